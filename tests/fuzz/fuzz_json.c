/* fuzz/fuzz_json.c: whatever parses must read and print without a fault, and what we print parses again. */
#include "fuzz/fuzz.h"

#include "base/json.h"

static void walk(const struct cd_json *v, struct cd_json_out *out, unsigned depth)
{
    CD_ASSERT(depth <= CD_JSON_DEPTH_MAX);
    struct cd_str text, key;
    uint64_t number;
    bool flag;
    switch (cd_json_kind(v)) {
    case CD_JSON_NULL: cd_json_out_null(out); break;
    case CD_JSON_BOOL:
        CD_ASSERT(cd_json_bool(v, &flag) == 0);
        cd_json_out_bool(out, flag);
        break;
    case CD_JSON_NUMBER:
        if (cd_json_u64(v, &number) == 0)
            cd_json_out_u64(out, number);
        else
            cd_json_out_null(out);
        break;
    case CD_JSON_STRING:
        CD_ASSERT(cd_json_str(v, &text) == 0);
        cd_json_out_str(out, text);
        break;
    case CD_JSON_ARRAY:
        cd_json_out_array(out);
        for (size_t i = 0; i < cd_json_count(v); i++)
            walk(cd_json_item(v, i), out, depth + 1);
        cd_json_out_end(out, ']');
        break;
    case CD_JSON_OBJECT:
        cd_json_out_object(out);
        for (size_t i = 0; i < cd_json_count(v); i++) {
            const struct cd_json *member = cd_json_member(v, i, &key);
            cd_json_out_key(out, "k");
            walk(member, out, depth + 1);
        }
        cd_json_out_end(out, '}');
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_json_doc *doc = NULL, *again = NULL;
    struct cd_buf why = {0}, printed = {0};
    if (cd_json_parse(&doc, cd_str_of(data, size), &why) == 0) {
        struct cd_json_out out;
        cd_json_out_init(&out, &printed);
        walk(cd_json_root(doc), &out, 0);
        CD_ASSERT(cd_json_parse(&again, cd_buf_str(&printed), &why) == 0);
        cd_json_free(again);
        cd_json_free(doc);
    } else {
        CD_ASSERT(why.len > 0); /* A refusal says why. */
    }
    cd_buf_deinit(&why);
    cd_buf_deinit(&printed);
    return 0;
}
