/* fuzz/fuzz.h: what a fuzz target defines. CMakeLists.txt tells how targets and corpora are found. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds size bytes to the decoder; sanitizers and CD_ASSERT judge. Returns 0. Same bytes, same behaviour. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
