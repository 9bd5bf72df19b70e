/* fuzz/fuzz_toml.c: the same as fuzz_jsonc.c for TOML. */
#include "fuzz/fuzz.h"
#include "fuzz/project_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    project_run(deploy_toml_parse, "/p/wrangler.toml", cd_str_of(data, size));
    return 0;
}
