/* fuzz/fuzz_s3.c: whatever an S3-compatible store answers is judged without a fault; a listing that is taken
 * ascends and lists only what was asked for; a range that is taken has the bytes it says.
 *
 * Input: a byte for the operation, two for the HTTP status, the head, an empty line, the body. */
#include "fuzz/fuzz.h"

#include "io/backend.h"
#include "io_real/s3_answer.h"
#include "io_real/s3_list.h"

static void check_list(struct cd_str body)
{
    struct io_list l = {0};
    struct s3_page page;
    struct cd_str prefix = CD_STR("a"), after = CD_STR("a/b");
    if (s3_list_read(&l, &page, body, CD_STR("p/"), prefix, after) == 0) {
        io_list_seal(&l);
        for (unsigned i = 0; i < l.count; i++) {
            CD_ASSERT(cd_str_starts(l.entry[i].key, prefix) && cd_str_cmp(l.entry[i].key, after) > 0);
            CD_ASSERT(i == 0 || cd_str_cmp(l.entry[i - 1].key, l.entry[i].key) < 0);
        }
        CD_ASSERT(!page.truncated || page.continuation.len > 0);
    } else {
        CD_ASSERT(l.why[0] != 0); /* A refusal says why. */
    }
    io_list_deinit(&l);
    s3_page_deinit(&page);
}

static void check_object(const struct s3_answer *a)
{
    struct io_store s = {0};
    if (s3_read_head(&s, a) == 0)
        CD_ASSERT(s.token[0] != 0 && strlen(s.token) < sizeof s.token);
    if (s3_check_range(&s, a, 2, 5) == 0)
        CD_ASSERT(a->http == 206 && a->body.len >= 1 && a->body.len <= 5 && s.size >= 2 + a->body.len);
    if (s3_check_range(&s, a, 0, IO_WHOLE) == 0)
        CD_ASSERT(a->http == 200 && s.size == a->body.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct s3_verdict v;
    if (size < 3)
        return 0;
    struct cd_str text = cd_str_of(data + 3, size - 3);
    size_t end = cd_str_find_str(text, CD_STR("\n\n"), 0);
    struct s3_answer a = {.kind = (enum s3_kind)(data[0] % 5),
                          .how = (enum io_put)(data[0] / 5 % 3),
                          .sent = true,
                          .sent_all = true,
                          .http = (data[1] * 256u + data[2]) % 1000,
                          .head = cd_str_sub(text, 0, end),
                          .body = end == SIZE_MAX ? text : cd_str_sub(text, end + 2, SIZE_MAX)};
    bool write = a.kind == S3_PUT || a.kind == S3_DELETE;
    s3_judge(&a, &v);
    CD_ASSERT((v.status == IO_OK) == (v.outcome == IO_DONE));
    CD_ASSERT(write || v.outcome != IO_UNKNOWN);
    CD_ASSERT((v.why[0] == 0) == (v.outcome == IO_DONE));
    CD_ASSERT(v.outcome != IO_DONE || a.http < 300 || (a.http == 404 && a.kind == S3_DELETE));
    check_list(a.body);
    check_object(&a);
    return 0;
}
