/* fuzz/fuzz_jsonc.c: JSON with comments is read without a fault, every place is in the file, and what was
 * read says the same when it is written as JSON and read again; the checks of a project hold whatever they
 * get. */
#include "fuzz/fuzz.h"
#include "fuzz/project_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    project_run(deploy_jsonc_parse, "/p/wrangler.jsonc", cd_str_of(data, size));
    return 0;
}
