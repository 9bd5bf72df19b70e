/* js/engine_object.cc: objects, functions, promises, array buffers. */
#include "js/engine_internal.h"

static v8::Local<v8::Object> object_of(js_value v)
{
    CD_ASSERT(js_local(v)->IsObject());
    return js_as<v8::Object>(v);
}

js_value js_object(js_isolate *js)
{
    return js_of(v8::Object::New(js->v8));
}

js_value js_object_bare(js_isolate *js)
{
    return js_of(v8::Object::New(js->v8, v8::Null(js->v8), nullptr, nullptr, 0));
}

js_value js_array(js_isolate *js, const js_value *values, unsigned count)
{
    /* A js_value is a v8::Local: see js_local. */
    return js_of(v8::Array::New(
        js->v8, reinterpret_cast<v8::Local<v8::Value> *>(const_cast<js_value *>(values)), count));
}

unsigned js_array_len(js_value array)
{
    CD_ASSERT(js_local(array)->IsArray());
    return js_as<v8::Array>(array)->Length();
}

int js_get(js_isolate *js, js_value object, js_value key, js_value *out)
{
    js_fallible(js);
    return js_give(object_of(object)->Get(js_context(js), js_local(key)), out);
}

int js_set(js_isolate *js, js_value object, js_value key, js_value v)
{
    js_fallible(js);
    return js_done(object_of(object)->Set(js_context(js), js_local(key), js_local(v)));
}

int js_has(js_isolate *js, js_value object, js_value key, bool *out)
{
    js_fallible(js);
    return object_of(object)->Has(js_context(js), js_local(key)).To(out) ? 0 : JS_THREW;
}

int js_delete(js_isolate *js, js_value object, js_value key)
{
    js_fallible(js);
    return js_done(object_of(object)->Delete(js_context(js), js_local(key)));
}

int js_get_index(js_isolate *js, js_value object, unsigned index, js_value *out)
{
    js_fallible(js);
    return js_give(object_of(object)->Get(js_context(js), index), out);
}

int js_set_index(js_isolate *js, js_value object, unsigned index, js_value v)
{
    js_fallible(js);
    return js_done(object_of(object)->Set(js_context(js), index, js_local(v)));
}

int js_get_text(js_isolate *js, js_value object, const char *key, js_value *out)
{
    js_fallible(js);
    return js_give(object_of(object)->Get(js_context(js), js_v8_text(js, key)), out);
}

int js_set_text(js_isolate *js, js_value object, const char *key, js_value v)
{
    js_fallible(js);
    return js_done(object_of(object)->Set(js_context(js), js_v8_text(js, key), js_local(v)));
}

static v8::Local<v8::String> name_of(js_isolate *js, unsigned name)
{
    CD_ASSERT(name < js->name_count);
    v8::Eternal<v8::String> &cached = js->name_cache[name];
    if (cached.IsEmpty())
        cached.Set(js->v8, js_v8_text(js, js->names[name]));
    return cached.Get(js->v8);
}

js_value js_name(js_isolate *js, unsigned name)
{
    return js_of(name_of(js, name));
}

int js_get_name(js_isolate *js, js_value object, unsigned name, js_value *out)
{
    js_fallible(js);
    return js_give(object_of(object)->Get(js_context(js), name_of(js, name)), out);
}

int js_set_name(js_isolate *js, js_value object, unsigned name, js_value v)
{
    js_fallible(js);
    return js_done(object_of(object)->Set(js_context(js), name_of(js, name), js_local(v)));
}

static_assert(JS_READ_ONLY == int{v8::ReadOnly});
static_assert(JS_HIDDEN == int{v8::DontEnum});
static_assert(JS_FIXED == int{v8::DontDelete});

int js_define(js_isolate *js, js_value object, js_value key, js_value v, unsigned flags)
{
    js_fallible(js);
    if (!js_local(key)->IsName())
        return js_throw_error(js, JS_TYPE_ERROR, "a property key must be a string or a symbol");
    return js_done(object_of(object)->DefineOwnProperty(js_context(js), js_as<v8::Name>(key), js_local(v),
                                                        static_cast<v8::PropertyAttribute>(flags)));
}

int js_keys(js_isolate *js, js_value object, js_value *array)
{
    js_fallible(js);
    return js_give(object_of(object)->GetOwnPropertyNames(
                       js_context(js),
                       static_cast<v8::PropertyFilter>(v8::ONLY_ENUMERABLE | v8::SKIP_SYMBOLS),
                       v8::KeyConversionMode::kConvertToString),
                   array);
}

js_value js_proto(js_value object)
{
    return js_of(object_of(object)->GetPrototypeV2());
}

int js_set_proto(js_isolate *js, js_value object, js_value proto)
{
    js_fallible(js);
    return js_done(object_of(object)->SetPrototypeV2(js_context(js), js_local(proto)));
}

int js_freeze(js_isolate *js, js_value object)
{
    js_fallible(js);
    return js_done(object_of(object)->SetIntegrityLevel(js_context(js), v8::IntegrityLevel::kFrozen));
}

static v8::Local<v8::Private> private_of(js_isolate *js, unsigned name)
{
    CD_ASSERT(name < js->name_count);
    v8::Eternal<v8::Private> &cached = js->private_cache[name];
    if (cached.IsEmpty())
        cached.Set(js->v8, v8::Private::ForApi(js->v8, name_of(js, name)));
    return cached.Get(js->v8);
}

int js_get_private(js_isolate *js, js_value object, unsigned name, js_value *out)
{
    js_fallible(js);
    return js_give(object_of(object)->GetPrivate(js_context(js), private_of(js, name)), out);
}

int js_set_private(js_isolate *js, js_value object, unsigned name, js_value v)
{
    js_fallible(js);
    return js_done(object_of(object)->SetPrivate(js_context(js), private_of(js, name), js_local(v)));
}

bool js_has_private(js_isolate *js, js_value object, unsigned name)
{
    return object_of(object)->HasPrivate(js_context(js), private_of(js, name)).FromMaybe(false);
}

int js_entries(js_isolate *js, js_value map_or_set, js_value *array)
{
    js_fallible(js);
    v8::Local<v8::Value> v = js_local(map_or_set);
    if (v->IsMap())
        *array = js_of(v.As<v8::Map>()->AsArray());
    else if (v->IsSet())
        *array = js_of(v.As<v8::Set>()->AsArray());
    else
        return js_throw_error(js, JS_TYPE_ERROR, "neither a Map nor a Set");
    return 0;
}

bool js_preview(js_isolate *js, js_value v, js_value *array, bool *keyed)
{
    js_fallible(js);
    v8::Local<v8::Array> list;
    if (!js_local(v)->IsObject() || !js_as<v8::Object>(v)->PreviewEntries(keyed).ToLocal(&list))
        return false;
    *array = js_of(list);
    return true;
}

void js_proxy_parts(js_value proxy, js_value *target, js_value *handler)
{
    CD_ASSERT(js_local(proxy)->IsProxy());
    *target = js_of(js_as<v8::Proxy>(proxy)->GetTarget());
    *handler = js_of(js_as<v8::Proxy>(proxy)->GetHandler());
}

js_value js_external(js_isolate *js, void *ptr)
{
    return js_of(v8::External::New(js->v8, ptr));
}

void *js_as_external(js_value external)
{
    CD_ASSERT(js_local(external)->IsExternal());
    return js_as<v8::External>(external)->Value();
}

int js_json_parse(js_isolate *js, struct cd_str text, js_value *out)
{
    js_fallible(js);
    v8::Local<v8::String> s;
    if (!js_v8_string(js, text).ToLocal(&s))
        return JS_THREW;
    return js_give(v8::JSON::Parse(js_context(js), s), out);
}

int js_json_add(js_isolate *js, js_value v, cd_buf *out)
{
    js_fallible(js);
    v8::HandleScope scope(js->v8);
    v8::Local<v8::String> s;
    if (!v8::JSON::Stringify(js_context(js), js_local(v)).ToLocal(&s))
        return JS_THREW;
    js_v8_utf8(js, s, out);
    return 0;
}

/* ---- Functions */

static v8::Local<v8::Value> *argv_of(const js_value *argv)
{
    return reinterpret_cast<v8::Local<v8::Value> *>(const_cast<js_value *>(argv));
}

int js_call(js_isolate *js, js_value function, js_value this_value, const js_value *argv, unsigned argc,
            js_value *out)
{
    js_fallible(js);
    if (!js_local(function)->IsFunction())
        return js_throw_error(js, JS_TYPE_ERROR, "not a function");
    return js_give(js_as<v8::Function>(function)->Call(js_context(js), js_local(this_value),
                                                       static_cast<int>(argc), argv_of(argv)),
                   out);
}

int js_construct(js_isolate *js, js_value function, const js_value *argv, unsigned argc, js_value *out)
{
    js_fallible(js);
    if (!js_local(function)->IsFunction())
        return js_throw_error(js, JS_TYPE_ERROR, "not a constructor");
    return js_give(
        js_as<v8::Function>(function)->NewInstance(js_context(js), static_cast<int>(argc), argv_of(argv)),
        out);
}

static void bound_gone(const v8::WeakCallbackInfo<js_bound> &info)
{
    js_bound *b = info.GetParameter();
    cd_link_remove(&b->link);
    b->function.Reset();
    delete b;
}

int js_function_new(js_isolate *js, js_host_fn *fn, void *user, js_value *out)
{
    js_fallible(js);
    js_bound *b = new js_bound();
    b->fn = fn;
    b->user = user;
    b->js = js;
    v8::Local<v8::Function> f;
    if (!v8::Function::New(js_context(js), js_trampoline, v8::External::New(js->v8, b)).ToLocal(&f)) {
        delete b;
        return JS_THREW;
    }
    b->function.Reset(js->v8, f);
    b->function.SetWeak(b, bound_gone, v8::WeakCallbackType::kParameter);
    cd_list_push(&js->bound, &b->link);
    *out = js_of(f);
    return 0;
}

int js_run(js_isolate *js, struct cd_str source, const char *name, js_value *out)
{
    js_fallible(js);
    v8::Local<v8::String> text;
    if (!js_v8_string(js, source).ToLocal(&text))
        return JS_THREW;
    v8::ScriptOrigin origin(js_v8_text(js, name));
    v8::Local<v8::Script> script;
    if (!v8::Script::Compile(js_context(js), text, &origin).ToLocal(&script))
        return JS_THREW;
    return js_give(script->Run(js_context(js)), out);
}

/* ---- Promises */

int js_promise_new(js_isolate *js, js_value *out)
{
    js_fallible(js);
    /* A resolver is its promise. */
    return js_give(v8::Promise::Resolver::New(js_context(js)), out);
}

static v8::Local<v8::Promise> promise_of(js_value promise)
{
    CD_ASSERT(js_local(promise)->IsPromise());
    return js_as<v8::Promise>(promise);
}

int js_promise_resolve(js_isolate *js, js_value promise, js_value v)
{
    js_fallible(js);
    (void)promise_of(promise);
    return js_done(js_as<v8::Promise::Resolver>(promise)->Resolve(js_context(js), js_local(v)));
}

int js_promise_reject(js_isolate *js, js_value promise, js_value reason)
{
    js_fallible(js);
    (void)promise_of(promise);
    return js_done(js_as<v8::Promise::Resolver>(promise)->Reject(js_context(js), js_local(reason)));
}

enum js_promise_state js_promise_state(js_value promise)
{
    switch (promise_of(promise)->State()) {
    case v8::Promise::kPending: return JS_PENDING;
    case v8::Promise::kFulfilled: return JS_FULFILLED;
    case v8::Promise::kRejected: return JS_REJECTED;
    }
    CD_UNREACHABLE();
}

js_value js_promise_result(js_value promise)
{
    CD_ASSERT(promise_of(promise)->State() != v8::Promise::kPending);
    return js_of(promise_of(promise)->Result());
}

void js_promise_handled(js_value promise)
{
    promise_of(promise)->MarkAsHandled();
}

int js_promise_then(js_isolate *js, js_value promise, js_value on_fulfilled, js_value on_rejected,
                    js_value *out)
{
    js_fallible(js);
    CD_ASSERT(js_local(on_fulfilled)->IsFunction());
    CD_ASSERT(js_local(on_rejected)->IsFunction());
    return js_give(promise_of(promise)->Then(js_context(js), js_as<v8::Function>(on_fulfilled),
                                             js_as<v8::Function>(on_rejected)),
                   out);
}

int js_queue_microtask(js_isolate *js, js_value function)
{
    js_fallible(js);
    if (!js_local(function)->IsFunction())
        return js_throw_error(js, JS_TYPE_ERROR, "not a function");
    js->v8->EnqueueMicrotask(js_as<v8::Function>(function));
    return 0;
}

/* ---- Array buffers */

int js_buffer(js_isolate *js, size_t len, js_value *out)
{
    js_fallible(js);
    v8::Local<v8::ArrayBuffer> b;
    if (!v8::ArrayBuffer::MaybeNew(js->v8, len).ToLocal(&b))
        return js_throw_error(js, JS_RANGE_ERROR, "Array buffer allocation failed");
    *out = js_of(b);
    return 0;
}

int js_buffer_copy(js_isolate *js, struct cd_str bytes, js_value *out)
{
    int rc = js_buffer(js, bytes.len, out);
    if (rc == 0 && bytes.len > 0)
        memcpy(js_as<v8::ArrayBuffer>(*out)->Data(), bytes.ptr, bytes.len);
    return rc;
}

namespace
{
struct foreign {
    void (*release)(void *);
    void *arg;
    std::shared_ptr<js_buffers> buffers;
    size_t len;
};
} /* namespace */

static void foreign_release(void *, size_t, void *data)
{
    foreign *f = static_cast<foreign *>(data);
    f->release(f->arg);
    f->buffers->give(f->len);
    delete f;
}

int js_buffer_external(js_isolate *js, void *bytes, size_t len, void (*release)(void *arg), void *arg,
                       js_value *out)
{
    js_fallible(js);
    if (len == 0 || !js->buffers->take(len)) {
        release(arg);
        return len == 0 ? js_buffer(js, 0, out)
                        : js_throw_error(js, JS_RANGE_ERROR, "Array buffer allocation failed");
    }
    foreign *f = new foreign{release, arg, js->buffers, len};
    std::shared_ptr<v8::BackingStore> store =
        v8::ArrayBuffer::NewBackingStore(bytes, len, foreign_release, f);
    *out = js_of(v8::ArrayBuffer::New(js->v8, std::move(store)));
    return 0;
}

int js_buffer_detach(js_isolate *js, js_value buffer)
{
    js_fallible(js);
    if (!js_local(buffer)->IsArrayBuffer() || !js_as<v8::ArrayBuffer>(buffer)->IsDetachable())
        return js_throw_error(js, JS_TYPE_ERROR, "the ArrayBuffer cannot be detached");
    return js_done(js_as<v8::ArrayBuffer>(buffer)->Detach(v8::Local<v8::Value>()));
}

bool js_buffer_detached(js_value buffer)
{
    CD_ASSERT(js_local(buffer)->IsArrayBuffer());
    return js_as<v8::ArrayBuffer>(buffer)->WasDetached();
}

int js_uint8_array(js_isolate *js, js_value buffer, size_t at, size_t len, js_value *out)
{
    js_fallible(js);
    CD_ASSERT(js_local(buffer)->IsArrayBuffer());
    v8::Local<v8::ArrayBuffer> b = js_as<v8::ArrayBuffer>(buffer);
    if (at > b->ByteLength() || len > b->ByteLength() - at)
        return js_throw_error(js, JS_RANGE_ERROR, "the view is outside of its buffer");
    *out = js_of(v8::Uint8Array::New(b, at, len));
    return 0;
}

int js_uint8_array_copy(js_isolate *js, struct cd_str bytes, js_value *out)
{
    js_value buffer = nullptr;
    int rc = js_buffer_copy(js, bytes, &buffer);
    return rc == 0 ? js_uint8_array(js, buffer, 0, bytes.len, out) : rc;
}

bool js_bytes(js_value v, struct js_bytes *out)
{
    v8::Local<v8::Value> l = js_local(v);
    struct js_bytes b = {nullptr, 0, v, 0};
    if (l->IsArrayBufferView()) {
        v8::Local<v8::ArrayBufferView> view = l.As<v8::ArrayBufferView>();
        v8::Local<v8::ArrayBuffer> buffer = view->Buffer();
        b.buffer = js_of(buffer);
        b.at = view->ByteOffset();
        b.len = view->ByteLength();
        b.ptr = static_cast<uint8_t *>(buffer->Data());
        if (b.ptr != nullptr)
            b.ptr += b.at;
    } else if (l->IsArrayBuffer()) {
        b.len = l.As<v8::ArrayBuffer>()->ByteLength();
        b.ptr = static_cast<uint8_t *>(l.As<v8::ArrayBuffer>()->Data());
    } else if (l->IsSharedArrayBuffer()) {
        b.len = l.As<v8::SharedArrayBuffer>()->ByteLength();
        b.ptr = static_cast<uint8_t *>(l.As<v8::SharedArrayBuffer>()->Data());
    } else {
        return false;
    }
    *out = b;
    return true;
}

bool js_bytes_read(js_value v, uint8_t *small, struct cd_str *out)
{
    v8::Local<v8::Value> l = js_local(v);
    if (l->IsArrayBufferView()) {
        v8::MemorySpan<uint8_t> span =
            l.As<v8::ArrayBufferView>()->GetContents(v8::MemorySpan<uint8_t>(small, 64));
        *out = cd_str_of(span.data(), span.size());
        return true;
    }
    struct js_bytes b;
    if (!js_bytes(v, &b))
        return false;
    *out = cd_str_of(b.ptr, b.len);
    return true;
}
