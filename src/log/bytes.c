#include "log/bytes.h"

#include <openssl/evp.h>

void log_sha256(struct cd_str a, struct cd_str b, uint8_t out[LOG_SHA256_SIZE])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned len = 0;
    CD_ASSERT(ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1);
    CD_ASSERT(EVP_DigestUpdate(ctx, a.ptr, a.len) == 1 && EVP_DigestUpdate(ctx, b.ptr, b.len) == 1);
    CD_ASSERT(EVP_DigestFinal_ex(ctx, out, &len) == 1 && len == LOG_SHA256_SIZE);
    EVP_MD_CTX_free(ctx);
}

int log_corrupt(struct cd_buf *why, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        cd_buf_vaddf(why, format, args);
        va_end(args);
    }
    return CD_ECORRUPT;
}
