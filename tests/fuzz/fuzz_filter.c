/* fuzz/fuzz_filter.c: the log filter of operations.md 7.2 comes from the environment. */
#include "fuzz/fuzz.h"

#include "base/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_event_filter filter = {0};
    struct cd_buf why = {0};
    if (cd_event_filter_parse(&filter, cd_str_of(data, size), &why) == 0) {
        for (int level = CD_ERROR; level <= CD_TRACE; level++)
            (void)cd_event_filter_allows(&filter, "celld::lease", (enum cd_level)level);
        cd_event_filter_deinit(&filter);
    } else {
        CD_ASSERT(why.len > 0);
    }
    cd_buf_deinit(&why);
    return 0;
}
