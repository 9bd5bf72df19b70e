/* db/bare.h: a storage over a bare SQLite in memory, for tests. */
#ifndef DB_BARE_H
#define DB_BARE_H

#include <sqlite3.h>

#include "db/storage.h"

struct bare {
    sqlite3 *db;
    struct storage *s;
    unsigned begins, commits, rollbacks;
    bool refuse; /* The next commit fails. */
    struct storage_alarm alarm; /* Of the last commit. */
    struct cd_buf text; /* What bare_sql and bare_list gave. */
};
struct bare *bare_new(void); /* Beside tests/support/test.h it is freed by bare_free. */
void bare_free(struct bare *b);
void bare_reopen(struct bare *b); /* The storage, not the database. */
void bare_turn(struct bare *b); /* Ends a turn, which must succeed. */
/* Runs SQL to its end. The rows as text, "1,x;2,NULL", or "error: TEXT". Good until the next call. */
const char *bare_sql(struct bare *b, const char *sql);
const char *bare_bind(struct bare *b, const char *sql, const struct storage_value *v, unsigned count);
const char *bare_list(struct bare *b, struct storage_range range); /* "a=1 b=2" */
void bare_put(struct bare *b, const char *key, const char *value); /* Must succeed. */
const char *bare_get(struct bare *b, const char *key); /* NULL when there is none. */

#endif
