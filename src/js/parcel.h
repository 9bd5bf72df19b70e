/* js/parcel.h: values that leave an isolate: structured clone, transfer, compiled WebAssembly.
 *
 * A parcel is made in one isolate and opened in any, on any thread, any number of times unless it carries
 * transferred array buffers, which can be taken once. Its bytes alone are the value when it carries nothing
 * (js_parcel_plain): they may be stored or sent to another process of the same V8 or a newer one. */
#ifndef JS_PARCEL_H
#define JS_PARCEL_H

#include "js/engine.h"

struct js_parcel;
struct js_writer; /* Valid in js_parcel_opts.write only. */
struct js_reader;

struct js_parcel_opts {
    const js_value *transfer; /* Array buffers to move; DataCloneError for others, doubles, detached ones. */
    unsigned transfer_count;
    /* Writes an object that hooks.is_host_object claims. NULL: DataCloneError. */
    int (*write)(void *arg, struct js_isolate *js, struct js_writer *w, js_value object);
    void *arg;
    bool storable; /* Shared buffers and WebAssembly modules are refused: DataCloneError. */
};

/* DataCloneError and what getters throw. The transferred buffers are detached on success only. opts may be
 * NULL. */
CD_MUST_USE int js_parcel_pack(struct js_isolate *js, js_value v, const struct js_parcel_opts *opts,
                               struct js_parcel **out);
struct js_parcel *js_parcel_of_bytes(struct cd_str bytes); /* Copies. Foreign bytes are safe to open. */
void js_parcel_free(struct js_parcel *p);
struct cd_str js_parcel_bytes(const struct js_parcel *p); /* Borrowed from p. */
bool js_parcel_plain(const struct js_parcel *p);

struct js_unpack_opts {
    int (*read)(void *arg, struct js_isolate *js, struct js_reader *r, js_value *object); /* NULL: Error. */
    void *arg;
};
/* Error "Unable to deserialize cloned data." for malformed bytes; DataCloneError when the buffers were taken
 * already. transferred (may be NULL): an array of the buffers that moved. */
CD_MUST_USE int js_parcel_unpack(struct js_isolate *js, struct js_parcel *p,
                                 const struct js_unpack_opts *opts, js_value *out, js_value *transferred);

void js_write_u32(struct js_writer *w, uint32_t v);
void js_write_u64(struct js_writer *w, uint64_t v);
void js_write_bytes(struct js_writer *w, struct cd_str bytes); /* With their length. */
CD_MUST_USE int js_write_value(struct js_writer *w, js_value v);
/* These throw when the bytes end early. */
CD_MUST_USE int js_read_u32(struct js_reader *r, uint32_t *out);
CD_MUST_USE int js_read_u64(struct js_reader *r, uint64_t *out);
CD_MUST_USE int js_read_bytes(struct js_reader *r, struct cd_str *out); /* Borrowed from the parcel. */
CD_MUST_USE int js_read_value(struct js_reader *r, js_value *out);

/* A compiled WebAssembly.Module, shared by all isolates of the process: no bytes and no code are copied. */
struct js_wasm;
/* WebAssembly.CompileError with V8's text is thrown for a bad module. */
CD_MUST_USE int js_wasm_compile(struct js_isolate *js, struct cd_str bytes, js_value *module_object);
struct js_wasm *js_wasm_share(js_value module_object); /* The caller frees it, from any thread. */
CD_MUST_USE int js_wasm_module(struct js_isolate *js, const struct js_wasm *w, js_value *module_object);
void js_wasm_free(struct js_wasm *w);

#endif
