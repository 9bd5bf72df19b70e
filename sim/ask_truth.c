/* sim/ask_truth.c: judges what Workers ran and clients got. */
#include "sim/ask_truth.h"

#include "sim/web_truth.h"

/* A node's clock may run faster than the client's by 5 % (swarm.c), and it rounds. */
#define EARLY_PPM 100000u
#define RANDOM_VALUES 3u

const char *ask_route_path(enum ask_route route)
{
    static const char *const paths[] = {
#define X(id, path) path,
        ASK_ROUTES(X)
#undef X
    };
    CD_ASSERT(route < ASK_ROUTE_COUNT);
    return paths[route];
}

void ask_truth_deinit(struct ask_truth *t)
{
    cd_free(t->ask);
    cd_map_deinit(&t->random);
    *t = (struct ask_truth){0};
}

uint64_t ask_truth_add(struct ask_truth *t, const struct ask *ask)
{
    if (t->asks == t->cap) {
        t->cap = t->cap == 0 ? 256 : t->cap * 2;
        t->ask = cd_realloc(t->ask, t->cap * sizeof *t->ask);
    }
    t->ask[t->asks] = *ask;
    return ++t->asks;
}

static struct ask *find(const struct ask_truth *t, uint64_t id)
{
    return id == 0 || id > t->asks ? NULL : &t->ask[id - 1];
}

struct ask ask_truth_get(const struct ask_truth *t, uint64_t id)
{
    const struct ask *a = find(t, id);
    CD_ASSERT(a != NULL);
    return *a;
}

static const char *broken(struct cd_buf *why, const char *invariant, uint64_t id, const struct ask *a,
                          const char *format, ...) CD_PRINTF(5, 6);
static const char *broken(struct cd_buf *why, const char *invariant, uint64_t id, const struct ask *a,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cd_buf_addf(why, "request %llu (%s) of c%u to n%u: ", (unsigned long long)id, ask_route_path(a->route),
                a->client, a->node);
    cd_buf_vaddf(why, format, args);
    va_end(args);
    return invariant;
}

/* ---- What the Worker says ---- */

const char *ask_truth_console(struct ask_truth *t, struct cd_str line, bool up, struct cd_buf *why)
{
    uint64_t id = 0;
    struct cd_str rest = line, word = {0};
    struct ask *a = NULL;
    bool two = cd_str_next(&rest, ' ', &word) && cd_str_u64(rest, &id) == 0;
    bool run = cd_str_eq(word, CD_STR("run")), late = cd_str_eq(word, CD_STR("late"));
    if (two && (run || late || cd_str_eq(word, CD_STR("fail"))))
        a = find(t, id);
    if (a == NULL) {
        cd_buf_addf(why, "the Worker says \"%.*s\": nobody asked for that", (int)line.len, line.ptr);
        return "js.invented";
    }
    if (!up)
        return broken(why, "js.ran-on", id, a, "JavaScript of a crashed node says \"%.*s\"", (int)line.len,
                      line.ptr);
    if (run && ++a->ran > 1)
        return broken(why, "js.twice", id, a, "the handler was called again");
    if (a->ran == 0 || (late && ++a->late > 1))
        return broken(why, "js.order", id, a, "called %u times, and the Worker says \"%.*s\"", a->ran,
                      (int)line.len, line.ptr);
    return NULL;
}

/* ---- What a client gets ---- */

static void want_body(struct cd_buf *out, uint64_t id, const struct ask *a)
{
    unsigned long long n = id;
    switch (a->route) {
    case ASK_TEXT: cd_buf_addf(out, "text %llu\n", n); break;
    case ASK_JSON:
        cd_buf_addf(out, "{\"op\":%llu,\"list\":[%llu,null,true],\"nested\":{\"text\":\"op %llu\"}}", n, n,
                    n);
        break;
    case ASK_ECHO:
    case ASK_READ: web_bytes(out, id, WEB_BODY, 0, a->n); break;
    case ASK_TIMER: cd_buf_addf(out, "timer %llu\n", n); break;
    case ASK_STREAM:
        for (uint32_t i = 0; i < a->n; i++)
            cd_buf_addf(out, "%llu line %u\n", n, i);
        break;
    case ASK_THROW: cd_buf_addf(out, "Worker failed: op %llu fails", n); break;
    case ASK_RANDOM:
    case ASK_ROUTE_COUNT: CD_UNREACHABLE();
    }
}

/* "random 17 0.123... 8-4-4-4-12 32 hex digits": none of the three may ever come again. */
static const char *judge_random(struct ask_truth *t, uint64_t id, const struct ask *a, struct cd_str body,
                                struct cd_buf *why)
{
    struct cd_buf start = {0};
    cd_buf_addf(&start, "random %llu ", (unsigned long long)id);
    bool mine = cd_str_starts(body, cd_buf_str(&start)) && cd_str_ends(body, CD_STR("\n"));
    struct cd_str rest = mine ? cd_str_sub(body, start.len, body.len - start.len - 1) : (struct cd_str){0};
    struct cd_str value;
    unsigned count = 0;
    cd_buf_deinit(&start);
    while (rest.ptr != NULL && cd_str_next(&rest, ' ', &value)) {
        bool well = count == 0 ? cd_str_starts(value, CD_STR("0.")) || cd_str_find(value, 'e', 0) != SIZE_MAX
                    : count == 1 ? value.len == 36 && value.ptr[14] == '4'
                                 : value.len == 32;
        if (!well)
            break;
        if (cd_map_put(&t->random, value, t) != NULL)
            return broken(why, "js.random", id, a, "the random value %.*s came before", (int)value.len,
                          value.ptr);
        count++;
    }
    if (count != RANDOM_VALUES)
        return broken(why, "js.answer", id, a, "no random values: \"%.*s\"", (int)body.len, body.ptr);
    return NULL;
}

/* What the server itself answers when a request does not come in time, or its body does not. */
static bool may_refuse(const struct ask *a, int status)
{
    if (status == 408)
        return true;
    bool with_body = a->route == ASK_ECHO || a->route == ASK_READ;
    return with_body && a->n > 0 && (status == 400 || status == 413 || status == 500);
}

const char *ask_truth_answer(struct ask_truth *t, uint64_t id, int status, struct cd_str body,
                             uint64_t took_ns, struct cd_buf *why)
{
    struct ask *a = find(t, id);
    CD_ASSERT(a != NULL && a->outcome == ASK_OPEN);
    int want = a->route == ASK_THROW ? 500 : 200;
    if (status != want && may_refuse(a, status)) {
        a->outcome = ASK_REFUSED;
        t->refused++;
        return NULL;
    }
    struct cd_str shown = cd_str_sub(body, 0, 200);
    if (status != want)
        return broken(why, "js.answer", id, a, "answered with %d, want %d: %.*s", status, want,
                      (int)shown.len, shown.ptr);
    if (a->ran == 0)
        return broken(why, "js.unexecuted", id, a, "answered, but the handler was never called");
    if (a->route == ASK_RANDOM) {
        const char *bad = judge_random(t, id, a, body, why);
        if (bad != NULL)
            return bad;
    } else {
        struct cd_buf right = {0};
        want_body(&right, id, a);
        bool same = cd_str_eq(body, cd_buf_str(&right));
        size_t len = right.len;
        cd_buf_deinit(&right);
        if (!same)
            return broken(why, "js.answer", id, a, "another answer of %llu bytes, want %llu: %.*s",
                          (unsigned long long)body.len, (unsigned long long)len, (int)shown.len, shown.ptr);
    }
    uint64_t least = a->route == ASK_TIMER ? (uint64_t)a->n * (1000000 - EARLY_PPM) : 0;
    if (took_ns < least)
        return broken(why, "js.early", id, a, "a wait of %u ms took %llu us", a->n,
                      (unsigned long long)took_ns / 1000);
    a->outcome = ASK_ANSWERED;
    t->answered++;
    t->thrown += a->route == ASK_THROW;
    return NULL;
}

void ask_truth_lose(struct ask_truth *t, uint64_t id)
{
    struct ask *a = find(t, id);
    CD_ASSERT(a != NULL && a->outcome == ASK_OPEN);
    a->outcome = ASK_LOST;
    t->lost++;
}
