/* cli/serve_cover.c: a shard whose turn does not end. It accepts nothing, and the kernel goes on giving it
 * its part of the connections: another shard accepts them, until it has come back (operations.md 5.1). It is
 * told to end the turn; when that does nothing for a minute the node gives up, so that its cells go on
 * elsewhere. */
#include "cli/serve_internal.h"

/* What is proven is in the log, so this is one more crash. */
static void give_up(struct serve *s, unsigned shard)
{
    struct cd_buf script = {0}, cell = {0}, line = {0};
    js_watch_whose(&s->shard[shard].watch, &script, &cell);
    cd_event(s->control, CD_ERROR, "turn_stuck", CD_U("shard", shard), CD_S("script", cd_buf_str(&script)),
             CD_S("cell", cd_buf_str(&cell)));
    cd_buf_addf(
        &line,
        "STUCK: a turn of %s%s%s does not end, though it was told to: a loop inside of V8; this node ends\n",
        cd_buf_cstr(&script), cell.len > 0 ? ", of the cell " : "", cd_buf_cstr(&cell));
    int rc = io_console_write(s->control, IO_STDERR, cd_buf_str(&line));
    CD_MAYBE(rc != 0); /* Nobody reads it. */
    cd_buf_deinit(&script);
    cd_buf_deinit(&cell);
    cd_buf_deinit(&line);
    s->c->give_up(s->control, s->fenced ? CLI_EXIT_FENCED : CLI_EXIT_STUCK);
}

/* Who stops the node has to know why that takes its time. */
static void say_ended(struct serve *s, unsigned shard)
{
    struct cd_buf script = {0}, cell = {0}, line = {0};
    js_watch_whose(&s->shard[shard].watch, &script, &cell);
    cd_buf_addf(&line, "stopping: a turn of %s%s%s did not end and is told to\n",
                script.len > 0 ? cd_buf_cstr(&script) : "a Worker", cell.len > 0 ? ", of the cell " : "",
                cd_buf_cstr(&cell));
    int rc = io_console_write(s->control, IO_STDERR, cd_buf_str(&line));
    CD_MAYBE(rc != 0); /* Nobody reads it. */
    cd_buf_deinit(&line);
    cd_buf_deinit(&cell);
    cd_buf_deinit(&script);
}

void cli_serve_look(struct serve *s)
{
    uint64_t now = io_now_ns(s->control);
    for (unsigned i = 0; i < s->shards; i++) {
        struct shard *shard = &s->shard[i];
        /* A node that fenced ends now: no turn has time left. One that stops waits for turns that end. */
        bool over = s->fenced || (s->stopping && now >= s->turns_end_ns && shard->stuck);
        switch (js_watch_look(&shard->watch, now, over)) {
        case JS_WATCH_QUIET: break;
        case JS_WATCH_TOLD:
            cd_event(s->control, CD_WARN, "turn_terminated", CD_U("shard", i));
            if (s->stopping && !s->fenced)
                say_ended(s, i);
            break;
        case JS_WATCH_STUCK: give_up(s, i); break;
        }
    }
}

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
