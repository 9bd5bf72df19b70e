/* js/ops_compress.c: host functions for CompressionStream and DecompressionStream. runtime.md 5.2.
 *
 * A codec takes input and gives output step by step, a piece of PIECE bytes at most, so that a small input
 * that unpacks to gigabytes costs no more memory than its reader allows. */
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "js/ops.h"
#include "js/worker_internal.h"

#define PIECE 65536
#define BROTLI_QUALITY                                                                                       \
    5 /* As servers use it; 11, the library's default, is for files that are packed once. */

enum kind { GZIP, DEFLATE, DEFLATE_RAW, BROTLI, ZSTD };
enum outcome { AGAIN, WANTS_INPUT, ENDED, FAILED }; /* As compression.js knows them. */

struct codec {
    struct js_weak weak;
    enum kind kind;
    bool unpack, live;
    z_stream z;
    BrotliEncoderState *brotli_pack;
    BrotliDecoderState *brotli_unpack;
    ZSTD_CStream *zstd_pack;
    ZSTD_DStream *zstd_unpack;
};

/* One step's input and output. */
struct step {
    const uint8_t *in;
    size_t in_len;
    uint8_t out[PIECE];
    size_t out_len;
    bool last;
};

static void codec_stop(struct codec *c)
{
    if (!c->live)
        return;
    c->live = false;
    if (c->kind <= DEFLATE_RAW) {
        if (c->unpack)
            inflateEnd(&c->z);
        else
            deflateEnd(&c->z);
    }
    if (c->brotli_pack != NULL)
        BrotliEncoderDestroyInstance(c->brotli_pack);
    if (c->brotli_unpack != NULL)
        BrotliDecoderDestroyInstance(c->brotli_unpack);
    ZSTD_freeCStream(c->zstd_pack);
    ZSTD_freeDStream(c->zstd_unpack);
}

static void codec_gone(struct js_weak *w)
{
    struct codec *c = CD_CONTAINER(w, struct codec, weak);
    codec_stop(c);
    cd_free(c);
}

static bool codec_start(struct codec *c)
{
    static const int window[] = {[GZIP] = 15 + 16, [DEFLATE] = 15, [DEFLATE_RAW] = -15};
    c->live = true;
    switch (c->kind) {
    case GZIP:
    case DEFLATE:
    case DEFLATE_RAW:
        if (c->unpack)
            return inflateInit2(&c->z, window[c->kind]) == Z_OK;
        return deflateInit2(&c->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window[c->kind], 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    case BROTLI:
        if (c->unpack)
            return (c->brotli_unpack = BrotliDecoderCreateInstance(NULL, NULL, NULL)) != NULL;
        c->brotli_pack = BrotliEncoderCreateInstance(NULL, NULL, NULL);
        return c->brotli_pack != NULL &&
               BrotliEncoderSetParameter(c->brotli_pack, BROTLI_PARAM_QUALITY, BROTLI_QUALITY);
    case ZSTD:
        if (c->unpack)
            return (c->zstd_unpack = ZSTD_createDStream()) != NULL;
        return (c->zstd_pack = ZSTD_createCStream()) != NULL;
    }
    CD_UNREACHABLE();
}

/* codec_new(kind, unpack) */
int js_op_codec_new(struct js_args *a)
{
    uint64_t kind;
    int rc = js_arg_u64(a, 0, &kind);
    if (rc != 0)
        return rc;
    if (kind > ZSTD)
        return CD_EINVAL;
    struct codec *c = cd_new(struct codec);
    c->kind = (enum kind)kind;
    c->unpack = js_to_bool(a->js, js_arg(a, 1));
    if (!codec_start(c)) {
        codec_gone(&c->weak);
        return js_throw_error(a->js, JS_ERROR, "Failed to initialize compression context.");
    }
    js_value v = js_external(a->js, c);
    js_weak_set(a->js, &c->weak, v, codec_gone);
    js_return(a, v);
    return 0;
}

static int codec_arg(struct js_args *a, struct codec **out)
{
    if (!js_is(js_arg(a, 0), JS_IS_EXTERNAL))
        return CD_EINVAL;
    *out = js_as_external(js_arg(a, 0));
    return 0;
}

/* codec_stop(codec): its memory is wanted no more. */
int js_op_codec_stop(struct js_args *a)
{
    struct codec *c;
    int rc = codec_arg(a, &c);
    if (rc == 0)
        codec_stop(c);
    return rc;
}

static enum outcome step_zlib(struct codec *c, struct step *s)
{
    /* zlib counts in 32 bits. */
    size_t len = s->in_len < (1u << 30) ? s->in_len : 1u << 30;
    bool last = s->last && len == s->in_len;
    c->z.next_in = (Bytef *)(uintptr_t)s->in;
    c->z.avail_in = (uInt)len;
    c->z.next_out = s->out;
    c->z.avail_out = PIECE;
    int rc = c->unpack ? inflate(&c->z, Z_NO_FLUSH) : deflate(&c->z, last ? Z_FINISH : Z_NO_FLUSH);
    size_t used = len - c->z.avail_in;
    s->in += used;
    s->in_len -= used;
    s->out_len = PIECE - c->z.avail_out;
    if (rc == Z_STREAM_END)
        return ENDED;
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return FAILED;
    return c->z.avail_out == 0 || s->in_len > 0 || (last && !c->unpack) ? AGAIN : WANTS_INPUT;
}

static enum outcome step_brotli(struct codec *c, struct step *s)
{
    uint8_t *out = s->out;
    size_t room = PIECE;
    enum outcome outcome;
    if (c->unpack) {
        BrotliDecoderResult r =
            BrotliDecoderDecompressStream(c->brotli_unpack, &s->in_len, &s->in, &room, &out, NULL);
        outcome = r == BROTLI_DECODER_RESULT_SUCCESS             ? ENDED
                  : r == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT  ? WANTS_INPUT
                  : r == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT ? AGAIN
                                                                 : FAILED;
    } else {
        BrotliEncoderOperation op = s->last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS;
        if (!BrotliEncoderCompressStream(c->brotli_pack, op, &s->in_len, &s->in, &room, &out, NULL))
            outcome = FAILED;
        else if (BrotliEncoderIsFinished(c->brotli_pack))
            outcome = ENDED;
        else
            outcome =
                s->in_len > 0 || s->last || BrotliEncoderHasMoreOutput(c->brotli_pack) ? AGAIN : WANTS_INPUT;
    }
    s->out_len = PIECE - room;
    return outcome;
}

static enum outcome step_zstd(struct codec *c, struct step *s)
{
    ZSTD_inBuffer in = {s->in, s->in_len, 0};
    ZSTD_outBuffer out = {s->out, PIECE, 0};
    size_t left = c->unpack
                      ? ZSTD_decompressStream(c->zstd_unpack, &out, &in)
                      : ZSTD_compressStream2(c->zstd_pack, &out, &in, s->last ? ZSTD_e_end : ZSTD_e_continue);
    s->in += in.pos;
    s->in_len -= in.pos;
    s->out_len = out.pos;
    if (ZSTD_isError(left))
        return FAILED;
    if (c->unpack && left == 0) /* A frame has ended; another one may follow. */
        return s->in_len > 0 ? AGAIN : ENDED;
    if (!c->unpack && s->last)
        return left == 0 ? ENDED : AGAIN;
    return s->in_len > 0 || out.pos == PIECE ? AGAIN : WANTS_INPUT;
}

/* codec_step(codec, bytes, at, last): [where the next step goes on, output or undefined, outcome]. */
int js_op_codec_step(struct js_args *a)
{
    struct codec *c;
    uint64_t at;
    struct js_bytes bytes;
    int rc = codec_arg(a, &c);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &at);
    if (rc != 0)
        return rc;
    if (!js_bytes(js_arg(a, 1), &bytes) || at > bytes.len || !c->live)
        return CD_EINVAL;
    struct step *s = cd_new(struct step);
    s->in = bytes.ptr + at;
    s->in_len = bytes.len - (size_t)at;
    s->last = js_to_bool(a->js, js_arg(a, 3));
    enum outcome outcome = c->kind == BROTLI ? step_brotli(c, s)
                           : c->kind == ZSTD ? step_zstd(c, s)
                                             : step_zlib(c, s);
    js_value output = js_undefined(a->js);
    if (s->out_len > 0)
        rc = js_uint8_array_copy(a->js, cd_str_of((const char *)s->out, s->out_len), &output);
    if (rc == 0) {
        const js_value parts[] = {js_number(a->js, (double)(bytes.len - s->in_len)), output,
                                  js_int(a->js, (int32_t)outcome)};
        js_return(a, js_array(a->js, parts, CD_COUNT(parts)));
    }
    cd_free(s);
    return rc;
}
