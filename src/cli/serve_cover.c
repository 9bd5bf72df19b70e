/* cli/serve_cover.c: a shard whose turn does not end accepts nothing, and the kernel goes on giving it its
 * part of the connections: another shard accepts them, until it has come back. operations.md 5.1. */
#include "cli/serve_internal.h"

/* On a shard: arg is the one that it is to accept for, or itself: for no other. */
static void shard_cover(struct serve *s, struct shard *shard, void *arg)
{
    const struct shard *other = arg;
    if (shard->server != NULL)
        http_server_cover(shard->server, other == shard ? IO_NO_LOOP : (unsigned)(other - s->shard) + 1);
}

static void cover_end(struct serve *s, struct shard *stuck)
{
    struct shard *by = stuck->cover;
    if (by == NULL)
        return;
    stuck->cover = NULL;
    by->covers = false;
    cli_serve_post(s->control, (unsigned)(by - s->shard) + 1, s, by, shard_cover, by);
}

static void cover_begin(struct serve *s, struct shard *stuck)
{
    for (unsigned i = 0; i < s->shards; i++) {
        struct shard *by = &s->shard[i];
        if (by->stuck || by->covers)
            continue;
        by->covers = true;
        stuck->cover = by;
        cli_serve_post(s->control, i + 1, s, by, shard_cover, stuck);
        return;
    }
}

void cli_serve_cover(struct serve *s)
{
    for (unsigned i = 0; i < s->shards; i++) {
        struct shard *shard = &s->shard[i];
        uint64_t turn = js_watch_turn(&shard->watch);
        shard->stuck = turn != 0 && turn == shard->turn;
        shard->turn = turn;
    }
    for (unsigned i = 0; i < s->shards; i++) {
        struct shard *shard = &s->shard[i];
        if (shard->cover != NULL && (!shard->stuck || shard->cover->stuck))
            cover_end(s, shard);
        if (shard->stuck && shard->cover == NULL)
            cover_begin(s, shard);
    }
}
