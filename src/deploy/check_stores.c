/* deploy/check_stores.c: D1, KV, R2 and queues (services.md 2 to 5). */
#include "deploy/check.h"

#include "deploy/names.h"

#define REMOTE "remote bindings are not available: all services run in this fleet"

/* ---- D1 ---- */

static bool check_d1(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"database_name", true, NULL},
        {"database_id", false, NULL},
        {"migrations_dir", false, NULL},
        {"migrations_table", false, NULL},
        {"preview_database_id", false, NULL}, /* Ignored: there is no preview. */
        {"migrations_pattern", false, "migrations are the files of migrations_dir that start with a number"},
        {"remote", false, REMOTE},
    };
    struct deploy_d1 *d = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "a D1 database", &d->binding);
    good = deploy_check_name(c, node, "database_name", deploy_name_d1, &d->database_name) && good;
    if (deploy_node_get(node, "database_id") != NULL)
        good = deploy_check_name(c, node, "database_id", deploy_name_d1, &d->database_id) && good;
    d->identity = d->database_id.len > 0 ? d->database_id : d->database_name;
    d->migrations_dir = CD_STR("migrations");
    if (deploy_node_get(node, "migrations_dir") != NULL)
        good = deploy_check_path(c, node, "migrations_dir", true, &d->migrations_dir) && good;
    d->migrations_table = CD_STR("d1_migrations");
    if (deploy_node_get(node, "migrations_table") != NULL)
        good =
            deploy_check_name(c, node, "migrations_table", deploy_name_table, &d->migrations_table) && good;
    return good;
}

void deploy_check_d1(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->d1, check_d1, (void **)&p->d1, &p->d1s);
}

/* ---- KV ---- */

static bool check_kv(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"id", true, NULL},
        {"preview_id", false, NULL}, /* Ignored: there is no preview. */
        {"remote", false, REMOTE},
    };
    struct deploy_kv *k = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "a KV namespace", &k->binding);
    return deploy_check_name(c, node, "id", deploy_name_kv, &k->id) && good;
}

void deploy_check_kv(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->kv, check_kv, (void **)&p->kv, &p->kvs);
    deploy_check_unique(c, node, "id", "this namespace is bound twice");
}

/* ---- R2 ---- */

static bool check_r2(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"bucket_name", true, NULL},
        {"preview_bucket_name", false, NULL}, /* Ignored: there is no preview. */
        {"remote", false, REMOTE},
        {"jurisdiction", false, "jurisdictions are not available: the bucket of the fleet decides"},
    };
    struct deploy_r2 *r = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "an R2 bucket", &r->binding);
    return deploy_check_name(c, node, "bucket_name", deploy_name_bucket, &r->bucket_name) && good;
}

void deploy_check_r2(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->r2, check_r2, (void **)&p->r2, &p->r2s);
    deploy_check_unique(c, node, "bucket_name", "this bucket is bound twice");
}

/* ---- Queues ---- */

#define DELAY_MAX_S 86400

/* A number that may be absent; *out keeps what it holds then. False when it is wrong. */
static bool check_number(struct deploy_check *c, const struct deploy_node *node, const char *key,
                         uint32_t low, uint32_t high, uint32_t *out)
{
    return deploy_node_get(node, key) == NULL || deploy_check_u32(c, node, key, low, high, out);
}

static bool check_producer(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"queue", true, NULL},
        {"delivery_delay", false, NULL},
        {"remote", false, REMOTE},
    };
    struct deploy_producer *p = item;
    p->delivery_delay_s = DEPLOY_UNSET;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "a queue", &p->binding);
    good = deploy_check_name(c, node, "queue", deploy_name_queue, &p->queue) && good;
    return check_number(c, node, "delivery_delay", 0, DELAY_MAX_S, &p->delivery_delay_s) && good;
}

#define PUSH_ONLY "there are no pull consumers: celld calls the queue() handler of this script"

static bool check_consumer(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"queue", true, NULL},
        {"max_batch_size", false, NULL},
        {"max_batch_timeout", false, NULL},
        {"max_retries", false, NULL},
        {"dead_letter_queue", false, NULL},
        {"max_concurrency", false, NULL},
        {"retry_delay", false, NULL},
        {"type", false, PUSH_ONLY},
        {"visibility_timeout_ms", false, PUSH_ONLY},
        {"script_name", false, "a script consumes for itself only"},
    };
    struct deploy_consumer *q = item;
    *q = (struct deploy_consumer){.max_batch_size = 10,
                                  .max_batch_timeout_s = 5,
                                  .max_retries = 3,
                                  .max_concurrency = DEPLOY_UNSET,
                                  .retry_delay_s = DEPLOY_UNSET};
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_name(c, node, "queue", deploy_name_queue, &q->queue);
    good = check_number(c, node, "max_batch_size", 1, 100, &q->max_batch_size) && good;
    good = check_number(c, node, "max_batch_timeout", 0, 60, &q->max_batch_timeout_s) && good;
    good = check_number(c, node, "max_retries", 0, 100, &q->max_retries) && good;
    good = check_number(c, node, "max_concurrency", 1, 250, &q->max_concurrency) && good;
    good = check_number(c, node, "retry_delay", 0, DELAY_MAX_S, &q->retry_delay_s) && good;
    const struct deploy_node *dead = deploy_node_get(node, "dead_letter_queue");
    if (dead == NULL)
        return good;
    good = deploy_check_grammar(c, dead, deploy_name_queue, &q->dead_letter_queue) && good;
    if (good && cd_str_eq(q->queue, q->dead_letter_queue)) {
        deploy_check_error(c, dead, NULL, "a queue cannot be its own dead letter queue");
        return false;
    }
    return good;
}

void deploy_check_queues(struct deploy_check *c, const struct deploy_node *node)
{
    static const struct deploy_member members[] = {{"producers", false, NULL}, {"consumers", false, NULL}};
    struct deploy_project *p = c->project;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return;
    const struct deploy_node *consumers = deploy_node_get(node, "consumers");
    deploy_check_list(c, deploy_node_get(node, "producers"), sizeof *p->producer, check_producer,
                      (void **)&p->producer, &p->producers);
    deploy_check_list(c, consumers, sizeof *p->consumer, check_consumer, (void **)&p->consumer,
                      &p->consumers);
    if (consumers != NULL)
        deploy_check_unique(c, consumers, "queue", "this queue has a consumer already");
}
