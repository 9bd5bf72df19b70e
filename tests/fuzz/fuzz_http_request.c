/* fuzz/fuzz_http_request.c: what clients send. The first byte seeds the cuts. */
#include "fuzz/fuzz.h"
#include "fuzz/http_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        run_compare(HTTP_PARSE_REQUEST, data[0], cd_str_of(data + 1, size - 1));
    return 0;
}
