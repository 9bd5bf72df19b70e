/* js/ops_zlib.c: host functions of node:zlib: zlib, brotli and zstd with all their parameters.
 * runtime.md 3.5.
 *
 * One step gives PIECE bytes at most, so that its caller decides how much output it wants to hold. */
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "js/ops.h"
#include "js/worker_internal.h"

#define PIECE 65536
#define PARAMS_MAX 64

/* As node:zlib numbers them. */
enum mode {
    DEFLATE = 1,
    INFLATE,
    GZIP,
    GUNZIP,
    DEFLATERAW,
    INFLATERAW,
    UNZIP,
    BROTLI_DECODE,
    BROTLI_ENCODE,
    ZSTD_COMPRESS,
    ZSTD_DECOMPRESS
};

struct codec {
    struct js_weak weak;
    enum mode mode;
    int window_bits;
    z_stream z;
    bool zlib;
    struct cd_buf dictionary; /* owned */
    BrotliEncoderState *brotli_pack;
    BrotliDecoderState *brotli_unpack;
    ZSTD_CStream *zstd_pack;
    ZSTD_DStream *zstd_unpack;
};

static bool packs(const struct codec *c)
{
    return c->mode == DEFLATE || c->mode == GZIP || c->mode == DEFLATERAW;
}

static void codec_gone(struct js_weak *w)
{
    struct codec *c = CD_CONTAINER(w, struct codec, weak);
    if (c->zlib)
        (void)(packs(c) ? deflateEnd(&c->z) : inflateEnd(&c->z));
    if (c->brotli_pack != NULL)
        BrotliEncoderDestroyInstance(c->brotli_pack);
    if (c->brotli_unpack != NULL)
        BrotliDecoderDestroyInstance(c->brotli_unpack);
    ZSTD_freeCStream(c->zstd_pack);
    ZSTD_freeDStream(c->zstd_unpack);
    cd_buf_deinit(&c->dictionary);
    cd_free(c);
}

static int int_arg(struct js_args *a, unsigned index, int *out)
{
    int32_t v;
    int rc = js_to_int32(a->js, js_arg(a, index), &v);
    if (rc == 0)
        *out = v;
    return rc;
}

static int give(struct js_args *a, struct codec *c)
{
    js_value v = js_external(a->js, c);
    js_weak_set(a->js, &c->weak, v, codec_gone);
    js_return(a, v);
    return 0;
}

static bool dictionary_set(struct codec *c)
{
    const Bytef *bytes = (const Bytef *)c->dictionary.ptr;
    if (c->dictionary.len == 0)
        return true;
    if (packs(c))
        return deflateSetDictionary(&c->z, bytes, (uInt)c->dictionary.len) == Z_OK;
    /* The others say when they want it. */
    return c->mode != INFLATERAW || inflateSetDictionary(&c->z, bytes, (uInt)c->dictionary.len) == Z_OK;
}

/* zlib_new(mode, windowBits, level, memLevel, strategy, dictionary or undefined): undefined when zlib
 * refuses. */
int js_op_zlib_new(struct js_args *a)
{
    int mode, bits, level, mem, strategy;
    struct js_bytes bytes;
    int rc = int_arg(a, 0, &mode);
    if (rc == 0)
        rc = int_arg(a, 1, &bits);
    if (rc == 0)
        rc = int_arg(a, 2, &level);
    if (rc == 0)
        rc = int_arg(a, 3, &mem);
    if (rc == 0)
        rc = int_arg(a, 4, &strategy);
    if (rc != 0)
        return rc;
    if (mode < DEFLATE || mode > UNZIP)
        return CD_EINVAL;
    struct codec *c = cd_new(struct codec);
    c->mode = (enum mode)mode;
    c->window_bits = c->mode == GZIP || c->mode == GUNZIP             ? bits + 16
                     : c->mode == UNZIP                               ? bits + 32
                     : c->mode == DEFLATERAW || c->mode == INFLATERAW ? -bits
                                                                      : bits;
    if (js_bytes(js_arg(a, 5), &bytes))
        cd_buf_add(&c->dictionary, bytes.ptr, bytes.len);
    c->zlib = packs(c) ? deflateInit2(&c->z, level, Z_DEFLATED, c->window_bits, mem, strategy) == Z_OK
                       : inflateInit2(&c->z, c->window_bits) == Z_OK;
    if (!c->zlib || !dictionary_set(c)) {
        codec_gone(&c->weak);
        return 0;
    }
    return give(a, c);
}

static bool brotli_start(struct codec *c)
{
    if (c->mode == BROTLI_ENCODE)
        return (c->brotli_pack = BrotliEncoderCreateInstance(NULL, NULL, NULL)) != NULL;
    return (c->brotli_unpack = BrotliDecoderCreateInstance(NULL, NULL, NULL)) != NULL;
}

static bool params_set(struct codec *c, const int *params, unsigned count)
{
    for (unsigned i = 0; i + 1 < count; i += 2) {
        int key = params[i], value = params[i + 1];
        bool ok = true;
        if (c->brotli_pack != NULL)
            ok = BrotliEncoderSetParameter(c->brotli_pack, (BrotliEncoderParameter)key, (uint32_t)value);
        else if (c->brotli_unpack != NULL)
            ok = BrotliDecoderSetParameter(c->brotli_unpack, (BrotliDecoderParameter)key, (uint32_t)value);
        else if (c->zstd_pack != NULL)
            ok = !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd_pack, (ZSTD_cParameter)key, value));
        else if (c->zstd_unpack != NULL)
            ok = !ZSTD_isError(ZSTD_DCtx_setParameter(c->zstd_unpack, (ZSTD_dParameter)key, value));
        if (!ok)
            return false;
    }
    return true;
}

/* zlib_new_params(mode, [parameter, value, ...], pledged size or -1): brotli and zstd; undefined when one
 * refuses. */
int js_op_zlib_new_params(struct js_args *a)
{
    int mode, params[PARAMS_MAX];
    double size;
    unsigned count = js_is(js_arg(a, 1), JS_IS_ARRAY) ? js_array_len(js_arg(a, 1)) : 0;
    int rc = int_arg(a, 0, &mode);
    if (rc == 0)
        rc = js_to_number(a->js, js_arg(a, 2), &size);
    if (rc != 0)
        return rc;
    if (mode < BROTLI_DECODE || mode > ZSTD_DECOMPRESS || count > PARAMS_MAX)
        return CD_EINVAL;
    for (unsigned i = 0; i < count; i++) {
        js_value v;
        int32_t n;
        rc = js_get_index(a->js, js_arg(a, 1), i, &v);
        if (rc == 0)
            rc = js_to_int32(a->js, v, &n);
        if (rc != 0)
            return rc;
        params[i] = n;
    }
    struct codec *c = cd_new(struct codec);
    c->mode = (enum mode)mode;
    bool ok = mode == ZSTD_COMPRESS     ? (c->zstd_pack = ZSTD_createCStream()) != NULL
              : mode == ZSTD_DECOMPRESS ? (c->zstd_unpack = ZSTD_createDStream()) != NULL
                                        : brotli_start(c);
    ok = ok && params_set(c, params, count);
    if (ok && c->zstd_pack != NULL && size >= 0)
        ok = !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(c->zstd_pack, (unsigned long long)size));
    if (!ok) {
        codec_gone(&c->weak);
        return 0;
    }
    return give(a, c);
}

static int codec_arg(struct js_args *a, struct codec **out)
{
    if (!js_is(js_arg(a, 0), JS_IS_EXTERNAL))
        return CD_EINVAL;
    *out = js_as_external(js_arg(a, 0));
    return 0;
}

/* zlib_params(codec, level, strategy): whether zlib takes them. */
int js_op_zlib_params(struct js_args *a)
{
    struct codec *c;
    int level, strategy;
    int rc = codec_arg(a, &c);
    if (rc == 0)
        rc = int_arg(a, 1, &level);
    if (rc == 0)
        rc = int_arg(a, 2, &strategy);
    if (rc != 0)
        return rc;
    uint8_t none;
    c->z.next_in = NULL;
    c->z.avail_in = 0;
    c->z.next_out = &none;
    c->z.avail_out = 0;
    rc = c->zlib && packs(c) ? deflateParams(&c->z, level, strategy) : Z_OK;
    js_return_bool(a, rc == Z_OK || rc == Z_BUF_ERROR);
    return 0;
}

/* zlib_reset(codec): from the beginning again. */
int js_op_zlib_reset(struct js_args *a)
{
    struct codec *c;
    int rc = codec_arg(a, &c);
    if (rc != 0)
        return rc;
    bool ok = true;
    if (c->zlib) {
        ok = (packs(c) ? deflateReset(&c->z) : inflateReset(&c->z)) == Z_OK && dictionary_set(c);
    } else if (c->zstd_pack != NULL || c->zstd_unpack != NULL) {
        ok = !ZSTD_isError(c->zstd_pack != NULL ? ZSTD_CCtx_reset(c->zstd_pack, ZSTD_reset_session_only)
                                                : ZSTD_DCtx_reset(c->zstd_unpack, ZSTD_reset_session_only));
    } else {
        if (c->brotli_pack != NULL)
            BrotliEncoderDestroyInstance(c->brotli_pack);
        if (c->brotli_unpack != NULL)
            BrotliDecoderDestroyInstance(c->brotli_unpack);
        c->brotli_pack = NULL;
        c->brotli_unpack = NULL;
        ok = brotli_start(c);
    }
    js_return_bool(a, ok);
    return 0;
}

struct step {
    const uint8_t *in;
    size_t in_len;
    uint8_t out[PIECE];
    size_t out_len;
    bool ended;
    int code; /* zlib's; of the others 0, or negative. */
    const char *error; /* NULL: none. Static text. */
};

static void step_zlib(struct codec *c, struct step *s, int flush)
{
    size_t len = s->in_len < (1u << 30) ? s->in_len : 1u << 30; /* zlib counts in 32 bits. */
    c->z.next_in = (Bytef *)(uintptr_t)s->in;
    c->z.avail_in = (uInt)len;
    c->z.next_out = s->out;
    c->z.avail_out = PIECE;
    int rc = packs(c) ? deflate(&c->z, flush) : inflate(&c->z, flush);
    if (rc == Z_NEED_DICT && c->dictionary.len > 0) {
        rc = inflateSetDictionary(&c->z, (const Bytef *)c->dictionary.ptr, (uInt)c->dictionary.len);
        rc = rc == Z_OK ? inflate(&c->z, flush) : Z_DATA_ERROR;
        if (rc == Z_DATA_ERROR && c->z.msg == NULL)
            s->error = "Bad dictionary";
    } else if (rc == Z_NEED_DICT) {
        s->error = "Missing dictionary";
    }
    size_t used = len - c->z.avail_in;
    s->in += used;
    s->in_len -= used;
    s->out_len = PIECE - c->z.avail_out;
    s->ended = rc == Z_STREAM_END;
    s->code = rc;
    if (s->error == NULL && (rc == Z_DATA_ERROR || rc == Z_MEM_ERROR || rc == Z_STREAM_ERROR))
        s->error = c->z.msg != NULL ? c->z.msg : "Zlib error";
}

static void step_brotli(struct codec *c, struct step *s, int op)
{
    uint8_t *out = s->out;
    size_t room = PIECE;
    if (c->brotli_unpack != NULL) {
        BrotliDecoderResult r =
            BrotliDecoderDecompressStream(c->brotli_unpack, &s->in_len, &s->in, &room, &out, NULL);
        s->ended = r == BROTLI_DECODER_RESULT_SUCCESS;
        if (r == BROTLI_DECODER_RESULT_ERROR) {
            s->code = (int)BrotliDecoderGetErrorCode(c->brotli_unpack);
            s->error = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(c->brotli_unpack));
        }
    } else {
        if (!BrotliEncoderCompressStream(c->brotli_pack, (BrotliEncoderOperation)op, &s->in_len, &s->in,
                                         &room, &out, NULL)) {
            s->code = -1;
            s->error = "Compression failed";
        }
        s->ended = BrotliEncoderIsFinished(c->brotli_pack) != 0;
    }
    s->out_len = PIECE - room;
}

static void step_zstd(struct codec *c, struct step *s, int op)
{
    ZSTD_inBuffer in = {s->in, s->in_len, 0};
    ZSTD_outBuffer out = {s->out, PIECE, 0};
    size_t left = c->zstd_unpack != NULL
                      ? ZSTD_decompressStream(c->zstd_unpack, &out, &in)
                      : ZSTD_compressStream2(c->zstd_pack, &out, &in, (ZSTD_EndDirective)op);
    s->in += in.pos;
    s->in_len -= in.pos;
    s->out_len = out.pos;
    if (ZSTD_isError(left)) {
        s->code = -(int)ZSTD_getErrorCode(left);
        s->error = ZSTD_getErrorName(left);
    } else {
        s->ended = left == 0 && (c->zstd_unpack != NULL || op == ZSTD_e_end);
    }
}

/* zlib_step(codec, bytes, at, flush): [where the next step goes on, output or undefined, more room wanted?,
 * ended?, code, error or undefined]. */
int js_op_zlib_step(struct js_args *a)
{
    struct codec *c;
    uint64_t at;
    int flush = 0;
    struct js_bytes bytes;
    int rc = codec_arg(a, &c);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &at);
    if (rc == 0)
        rc = int_arg(a, 3, &flush);
    if (rc != 0)
        return rc;
    if (!js_bytes(js_arg(a, 1), &bytes) || at > bytes.len)
        return CD_EINVAL;
    struct step *s = cd_new(struct step);
    s->in = bytes.ptr + at;
    s->in_len = bytes.len - (size_t)at;
    if (c->zlib)
        step_zlib(c, s, flush);
    else if (c->zstd_pack != NULL || c->zstd_unpack != NULL)
        step_zstd(c, s, flush);
    else
        step_brotli(c, s, flush);
    js_value output = js_undefined(a->js);
    if (s->out_len > 0)
        rc = js_uint8_array_copy(a->js, cd_str_of((const char *)s->out, s->out_len), &output);
    if (rc == 0) {
        const js_value parts[] = {js_number(a->js, (double)(bytes.len - s->in_len)),
                                  output,
                                  js_bool(a->js, s->out_len == PIECE),
                                  js_bool(a->js, s->ended),
                                  js_int(a->js, s->code),
                                  s->error == NULL ? js_undefined(a->js) : js_text(a->js, s->error)};
        js_return(a, js_array(a->js, parts, CD_COUNT(parts)));
    }
    cd_free(s);
    return rc;
}

/* zlib_crc32(bytes, value) */
int js_op_zlib_crc32(struct js_args *a)
{
    struct js_bytes bytes;
    uint64_t value;
    int rc = js_arg_u64(a, 1, &value);
    if (rc != 0)
        return rc;
    if (!js_bytes(js_arg(a, 0), &bytes))
        return CD_EINVAL;
    js_return_number(a, (double)crc32_z((uLong)value, bytes.ptr, bytes.len));
    return 0;
}
