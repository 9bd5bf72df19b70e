/* fuzz/fuzz_http_response.c: what servers send. The first byte chooses the method that was asked and seeds
 * the cuts. */
#include "fuzz/fuzz.h"
#include "fuzz/http_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        run_compare(data[0] % 4 == 3 ? HTTP_PARSE_RESPONSE_TO_HEAD : HTTP_PARSE_RESPONSE, data[0],
                    cd_str_of(data + 1, size - 1));
    return 0;
}
