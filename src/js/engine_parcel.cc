/* js/engine_parcel.cc: structured clone between isolates, and compiled WebAssembly. */
#include "js/engine_internal.h"

struct js_parcel {
    uint8_t *bytes; /* owned */
    size_t size;
    bool transfers;
    std::vector<std::shared_ptr<v8::BackingStore>> moved; /* Empty pointers once taken. */
    std::vector<std::shared_ptr<v8::BackingStore>> shared;
    std::vector<v8::CompiledWasmModule> wasm;
};

struct js_writer {
    js_isolate *js;
    v8::ValueSerializer *out;
};

struct js_reader {
    js_isolate *js;
    v8::ValueDeserializer *in;
};

struct js_wasm {
    v8::CompiledWasmModule module;
};

namespace
{

class writer final : public v8::ValueSerializer::Delegate
{
  public:
    writer(js_isolate *js, const js_parcel_opts *opts, js_parcel *parcel)
        : js_(js), opts_(opts), parcel_(parcel)
    {
    }
    void set(v8::ValueSerializer *out)
    {
        out_ = out;
    }

    void *ReallocateBufferMemory(void *old, size_t size, size_t *actual_size) override
    {
        *actual_size = size;
        return cd_realloc(old, size);
    }
    void FreeBufferMemory(void *buffer) override
    {
        cd_free(buffer);
    }
    void ThrowDataCloneError(v8::Local<v8::String> message) override
    {
        js_throw_dom_text(js_, "DataCloneError", message);
    }
    bool HasCustomHostObject(v8::Isolate *) override
    {
        return js_->hooks != nullptr && js_->hooks->is_host_object != nullptr;
    }
    v8::Maybe<bool> IsHostObject(v8::Isolate *, v8::Local<v8::Object> object) override
    {
        return v8::Just(js_->hooks->is_host_object(js_, js_of(object)));
    }
    v8::Maybe<bool> WriteHostObject(v8::Isolate *, v8::Local<v8::Object> object) override;
    v8::Maybe<uint32_t> GetSharedArrayBufferId(v8::Isolate *, v8::Local<v8::SharedArrayBuffer> b) override
    {
        if (opts_->storable) {
            js_throw_dom(js_, "DataCloneError", "#<SharedArrayBuffer> could not be cloned.");
            return v8::Nothing<uint32_t>();
        }
        parcel_->shared.push_back(b->GetBackingStore());
        return v8::Just(static_cast<uint32_t>(parcel_->shared.size() - 1));
    }
    v8::Maybe<uint32_t> GetWasmModuleTransferId(v8::Isolate *, v8::Local<v8::WasmModuleObject> m) override
    {
        if (opts_->storable) {
            js_throw_dom(js_, "DataCloneError", "#<Module> could not be cloned.");
            return v8::Nothing<uint32_t>();
        }
        parcel_->wasm.push_back(m->GetCompiledModule());
        return v8::Just(static_cast<uint32_t>(parcel_->wasm.size() - 1));
    }

  private:
    js_isolate *js_;
    const js_parcel_opts *opts_;
    js_parcel *parcel_;
    v8::ValueSerializer *out_ = nullptr;
};

v8::Maybe<bool> writer::WriteHostObject(v8::Isolate *, v8::Local<v8::Object> object)
{
    if (opts_->write == nullptr) {
        cd_buf name = {};
        js_v8_utf8(js_, object->GetConstructorName(), &name);
        js_throw_dom(js_, "DataCloneError", "%.*s object could not be cloned.",
                     static_cast<int>(name.len < 200 ? name.len : 200), name.ptr);
        cd_buf_deinit(&name);
        return v8::Nothing<bool>();
    }
    js_writer w = {js_, out_};
    int rc = opts_->write(opts_->arg, js_, &w, js_of(object));
    if (rc == 0)
        return v8::Just(true);
    if (rc != JS_THREW)
        js_throw_error(js_, JS_ERROR, "%s", cd_err_text(rc));
    return v8::Nothing<bool>();
}

class reader final : public v8::ValueDeserializer::Delegate
{
  public:
    reader(js_isolate *js, const js_unpack_opts *opts, js_parcel *parcel)
        : js_(js), opts_(opts), parcel_(parcel)
    {
    }
    void set(v8::ValueDeserializer *in)
    {
        in_ = in;
    }

    v8::MaybeLocal<v8::Object> ReadHostObject(v8::Isolate *) override
    {
        js_value object = nullptr;
        int rc = CD_EUNSUPPORTED;
        if (opts_->read != nullptr) {
            js_reader r = {js_, in_};
            rc = opts_->read(opts_->arg, js_, &r, &object);
        }
        if (rc == 0 && js_local(object)->IsObject())
            return js_as<v8::Object>(object);
        if (rc != JS_THREW)
            js_throw_error(js_, JS_ERROR, "Unable to deserialize cloned data.");
        return {};
    }
    v8::MaybeLocal<v8::WasmModuleObject> GetWasmModuleFromId(v8::Isolate *isolate, uint32_t id) override
    {
        if (id < parcel_->wasm.size())
            return v8::WasmModuleObject::FromCompiledModule(isolate, parcel_->wasm[id]);
        js_throw_error(js_, JS_ERROR, "Unable to deserialize cloned data.");
        return {};
    }
    v8::MaybeLocal<v8::SharedArrayBuffer> GetSharedArrayBufferFromId(v8::Isolate *isolate,
                                                                     uint32_t id) override
    {
        if (id < parcel_->shared.size())
            return v8::SharedArrayBuffer::New(isolate, parcel_->shared[id]);
        js_throw_error(js_, JS_ERROR, "Unable to deserialize cloned data.");
        return {};
    }

  private:
    js_isolate *js_;
    const js_unpack_opts *opts_;
    js_parcel *parcel_;
    v8::ValueDeserializer *in_ = nullptr;
};

} /* namespace */

static int transfer_check(js_isolate *js, const js_parcel_opts *opts)
{
    for (unsigned i = 0; i < opts->transfer_count; i++) {
        v8::Local<v8::Value> v = js_local(opts->transfer[i]);
        if (!v->IsArrayBuffer() || !v.As<v8::ArrayBuffer>()->IsDetachable())
            return js_throw_dom(js, "DataCloneError", "Value at index %u is not transferable.", i);
        if (v.As<v8::ArrayBuffer>()->WasDetached())
            return js_throw_dom(js, "DataCloneError", "ArrayBuffer at index %u is already detached.", i);
        for (unsigned k = 0; k < i; k++) {
            if (v->StrictEquals(js_local(opts->transfer[k])))
                return js_throw_dom(js, "DataCloneError",
                                    "ArrayBuffer at index %u is a duplicate of an earlier ArrayBuffer.", i);
        }
    }
    return 0;
}

static int transfer_take(js_isolate *js, const js_parcel_opts *opts, js_parcel *parcel)
{
    for (unsigned i = 0; i < opts->transfer_count; i++) {
        /* Getters that ran while writing may have detached it. */
        v8::Local<v8::ArrayBuffer> b = js_as<v8::ArrayBuffer>(opts->transfer[i]);
        if (b->WasDetached())
            return js_throw_dom(js, "DataCloneError", "ArrayBuffer at index %u is already detached.", i);
        parcel->moved.push_back(b->GetBackingStore());
        if (b->Detach(v8::Local<v8::Value>()).IsNothing())
            return JS_THREW;
    }
    return 0;
}

int js_parcel_pack(js_isolate *js, js_value v, const js_parcel_opts *opts, js_parcel **out)
{
    js_fallible(js);
    static const js_parcel_opts none = {};
    if (opts == nullptr)
        opts = &none;
    v8::HandleScope scope(js->v8);
    int rc = transfer_check(js, opts);
    if (rc != 0)
        return rc;
    js_parcel *parcel = new js_parcel();
    writer delegate(js, opts, parcel);
    v8::ValueSerializer serializer(js->v8, &delegate);
    delegate.set(&serializer);
    serializer.WriteHeader();
    for (unsigned i = 0; i < opts->transfer_count; i++)
        serializer.TransferArrayBuffer(i, js_as<v8::ArrayBuffer>(opts->transfer[i]));
    rc = js_done(serializer.WriteValue(js_context(js), js_local(v)));
    std::pair<uint8_t *, size_t> bytes = serializer.Release();
    parcel->bytes = bytes.first;
    parcel->size = bytes.second;
    if (rc == 0)
        rc = transfer_take(js, opts, parcel);
    if (rc != 0) {
        js_parcel_free(parcel);
        return rc;
    }
    *out = parcel;
    return 0;
}

js_parcel *js_parcel_of_bytes(struct cd_str bytes)
{
    js_parcel *parcel = new js_parcel();
    parcel->bytes = static_cast<uint8_t *>(cd_alloc(bytes.len));
    if (bytes.len > 0)
        memcpy(parcel->bytes, bytes.ptr, bytes.len);
    parcel->size = bytes.len;
    return parcel;
}

void js_parcel_free(js_parcel *p)
{
    if (p == nullptr)
        return;
    cd_free(p->bytes);
    delete p;
}

struct cd_str js_parcel_bytes(const js_parcel *p)
{
    return cd_str_of(p->bytes, p->size);
}

bool js_parcel_plain(const js_parcel *p)
{
    return p->moved.empty() && p->shared.empty() && p->wasm.empty();
}

static int transfer_give(js_isolate *js, js_parcel *p, v8::ValueDeserializer *in, js_value *transferred)
{
    std::vector<js_value> buffers;
    for (uint32_t i = 0; i < p->moved.size(); i++) {
        if (p->moved[i] == nullptr)
            return js_throw_dom(js, "DataCloneError", "The transferred buffers were taken already.");
        v8::Local<v8::ArrayBuffer> b = v8::ArrayBuffer::New(js->v8, std::move(p->moved[i]));
        p->moved[i] = nullptr;
        in->TransferArrayBuffer(i, b);
        buffers.push_back(js_of(b));
    }
    if (transferred != nullptr)
        *transferred = js_array(js, buffers.data(), static_cast<unsigned>(buffers.size()));
    return 0;
}

int js_parcel_unpack(js_isolate *js, js_parcel *p, const js_unpack_opts *opts, js_value *out,
                     js_value *transferred)
{
    js_fallible(js);
    static const js_unpack_opts none = {};
    if (opts == nullptr)
        opts = &none;
    reader delegate(js, opts, p);
    v8::ValueDeserializer deserializer(js->v8, p->bytes, p->size, &delegate);
    delegate.set(&deserializer);
    v8::Local<v8::Context> context = js_context(js);
    if (!deserializer.ReadHeader(context).FromMaybe(false)) {
        if (!js->v8->HasPendingException())
            js_throw_error(js, JS_ERROR, "Unable to deserialize cloned data.");
        return JS_THREW;
    }
    int rc = transfer_give(js, p, &deserializer, transferred);
    return rc == 0 ? js_give(deserializer.ReadValue(context), out) : rc;
}

/* ---- Host objects */

void js_write_u32(js_writer *w, uint32_t v)
{
    w->out->WriteUint32(v);
}

void js_write_u64(js_writer *w, uint64_t v)
{
    w->out->WriteUint64(v);
}

void js_write_bytes(js_writer *w, struct cd_str bytes)
{
    w->out->WriteUint64(bytes.len);
    w->out->WriteRawBytes(bytes.ptr, bytes.len);
}

int js_write_value(js_writer *w, js_value v)
{
    js_fallible(w->js);
    return js_done(w->out->WriteValue(js_context(w->js), js_local(v)));
}

static int cut_short(js_reader *r)
{
    return js_throw_error(r->js, JS_ERROR, "Unable to deserialize cloned data.");
}

int js_read_u32(js_reader *r, uint32_t *out)
{
    return r->in->ReadUint32(out) ? 0 : cut_short(r);
}

int js_read_u64(js_reader *r, uint64_t *out)
{
    return r->in->ReadUint64(out) ? 0 : cut_short(r);
}

int js_read_bytes(js_reader *r, struct cd_str *out)
{
    uint64_t len;
    const void *bytes;
    if (!r->in->ReadUint64(&len) || !r->in->ReadRawBytes(len, &bytes))
        return cut_short(r);
    *out = cd_str_of(bytes, len);
    return 0;
}

int js_read_value(js_reader *r, js_value *out)
{
    js_fallible(r->js);
    return js_give(r->in->ReadValue(js_context(r->js)), out);
}

/* ---- WebAssembly */

int js_wasm_compile(js_isolate *js, struct cd_str bytes, js_value *module_object)
{
    js_fallible(js);
    return js_give(
        v8::WasmModuleObject::Compile(
            js->v8, v8::MemorySpan<const uint8_t>(reinterpret_cast<const uint8_t *>(bytes.ptr), bytes.len)),
        module_object);
}

js_wasm *js_wasm_share(js_value module_object)
{
    CD_ASSERT(js_local(module_object)->IsWasmModuleObject());
    return new js_wasm{js_as<v8::WasmModuleObject>(module_object)->GetCompiledModule()};
}

int js_wasm_module(js_isolate *js, const js_wasm *w, js_value *module_object)
{
    js_fallible(js);
    return js_give(v8::WasmModuleObject::FromCompiledModule(js->v8, w->module), module_object);
}

void js_wasm_free(js_wasm *w)
{
    delete w;
}
