/* js/engine_module.cc: ES modules. */
#include "js/engine_internal.h"

namespace
{

/* A dynamic import between import() and the microtask that links and evaluates: a module may not be evaluated
 * while one that imports it is in the middle of its own body. */
struct import_step {
    js_isolate *js;
    v8::Global<v8::Module> module;
    v8::Global<v8::Promise::Resolver> result;
    cd_link link;
};

} /* namespace */

static void add_value(js_isolate *js, v8::Local<v8::Data> v, cd_buf *out)
{
    if (v->IsValue() && v.As<v8::Value>()->IsString())
        js_v8_utf8(js, v.As<v8::String>(), out);
}

/* Asks the owner. Returns 0, or JS_THREW with the exception pending. */
static int resolve(js_isolate *js, v8::Local<v8::String> specifier, struct cd_str referrer,
                   v8::Local<v8::FixedArray> attributes, bool dynamic, v8::Local<v8::Module> *out)
{
    v8::Local<v8::Context> context = js_context(js);
    cd_buf spec = {}, type = {}, other = {}, key = {};
    js_v8_utf8(js, specifier, &spec);
    int step = dynamic ? 2 : 3; /* Key, value and, in static imports, the source position. */
    for (int i = 0; i + 1 < attributes->Length(); i += step) {
        cd_buf_clear(&key);
        add_value(js, attributes->Get(context, i), &key);
        if (cd_str_eq(cd_buf_str(&key), cd_str("type")))
            add_value(js, attributes->Get(context, i + 1), &type);
        else
            cd_buf_add_str(&other, cd_buf_str(&key));
    }
    js_import import = {cd_buf_str(&spec), referrer, cd_buf_str(&type), cd_buf_str(&other), dynamic};
    js_value module = nullptr;
    int rc;
    if (js->hooks == nullptr || js->hooks->resolve == nullptr)
        rc = js_throw_error(js, JS_ERROR, "No such module \"%.*s\".", static_cast<int>(spec.len), spec.ptr);
    else
        rc = js->hooks->resolve(js, &import, &module);
    if (rc != 0 && rc != JS_THREW)
        rc = js_throw_error(js, JS_ERROR, "No such module \"%.*s\": %s", static_cast<int>(spec.len), spec.ptr,
                            cd_err_text(rc));
    cd_buf_deinit(&spec);
    cd_buf_deinit(&type);
    cd_buf_deinit(&other);
    cd_buf_deinit(&key);
    if (rc == 0)
        *out = js_as<v8::Module>(module);
    return rc;
}

static v8::MaybeLocal<v8::Module> on_resolve(v8::Local<v8::Context>, v8::Local<v8::String> specifier,
                                             v8::Local<v8::FixedArray> attributes,
                                             v8::Local<v8::Module> referrer)
{
    js_isolate *js = js_from(v8::Isolate::GetCurrent());
    void *name = cd_map_get_u64(&js->scripts, static_cast<uint64_t>(referrer->ScriptId()));
    v8::Local<v8::Module> module;
    if (resolve(js, specifier, cd_str(static_cast<const char *>(name)), attributes, false, &module) != 0)
        return {};
    return module;
}

/* ---- Dynamic import */

static void give_namespace(const v8::FunctionCallbackInfo<v8::Value> &info)
{
    info.GetReturnValue().Set(info.Data());
}

static int import_evaluate(js_isolate *js, v8::Local<v8::Module> module, v8::Local<v8::Value> *out)
{
    v8::Local<v8::Context> context = js_context(js);
    if (module->GetStatus() == v8::Module::kUninstantiated &&
        !module->InstantiateModule(context, on_resolve).FromMaybe(false))
        return JS_THREW;
    v8::Local<v8::Value> evaluated;
    if (!module->Evaluate(context).ToLocal(&evaluated))
        return JS_THREW;
    /* A failed module has a namespace, but what counts is the rejected promise, so it is asked for last. */
    v8::Local<v8::Value> names;
    if (module->GetStatus() == v8::Module::kErrored) {
        *out = evaluated;
        return 0;
    }
    names = module->GetModuleNamespace();
    v8::Local<v8::Function> then;
    v8::Local<v8::Promise> promise;
    if (!v8::Function::New(context, give_namespace, names).ToLocal(&then) ||
        !evaluated.As<v8::Promise>()->Then(context, then).ToLocal(&promise))
        return JS_THREW;
    *out = promise;
    return 0;
}

static void import_free(import_step *step)
{
    cd_link_remove(&step->link);
    delete step;
}

static void import_run(void *arg)
{
    import_step *step = static_cast<import_step *>(arg);
    js_isolate *js = step->js;
    v8::HandleScope scope(js->v8);
    v8::Local<v8::Context> context = js->context.Get(js->v8);
    v8::Context::Scope enter(context);
    v8::TryCatch caught(js->v8);
    v8::Local<v8::Promise::Resolver> result = step->result.Get(js->v8);
    v8::Local<v8::Value> value;
    js->catchers++;
    int rc = import_evaluate(js, step->module.Get(js->v8), &value);
    js->catchers--;
    import_free(step);
    if (rc == 0)
        (void)result->Resolve(context, value).IsNothing();
    else if (!caught.HasTerminated())
        (void)result->Reject(context, caught.Exception()).IsNothing();
}

static v8::MaybeLocal<v8::Promise> on_import(v8::Local<v8::Context> context, v8::Local<v8::Data>,
                                             v8::Local<v8::Value> resource_name,
                                             v8::Local<v8::String> specifier,
                                             v8::Local<v8::FixedArray> attributes)
{
    js_isolate *js = js_from(v8::Isolate::GetCurrent());
    v8::EscapableHandleScope scope(js->v8);
    v8::Local<v8::Promise::Resolver> result;
    if (!v8::Promise::Resolver::New(context).ToLocal(&result))
        return {};
    v8::TryCatch caught(js->v8);
    cd_buf referrer = {};
    add_value(js, resource_name, &referrer);
    v8::Local<v8::Module> module;
    js->catchers++;
    int rc = resolve(js, specifier, cd_buf_str(&referrer), attributes, true, &module);
    js->catchers--;
    cd_buf_deinit(&referrer);
    if (rc == 0) {
        import_step *step = new import_step();
        step->js = js;
        step->module.Reset(js->v8, module);
        step->result.Reset(js->v8, result);
        cd_list_push(&js->imports, &step->link);
        js->v8->EnqueueMicrotask(import_run, step);
    } else if (caught.HasTerminated()) {
        caught.ReThrow();
        return {};
    } else if (result->Reject(context, caught.Exception()).IsNothing()) {
        return {};
    }
    return scope.Escape(result->GetPromise());
}

static void on_meta(v8::Local<v8::Context>, v8::Local<v8::Module> module, v8::Local<v8::Object> meta)
{
    js_isolate *js = js_from(v8::Isolate::GetCurrent());
    if (js->hooks == nullptr || js->hooks->import_meta == nullptr)
        return;
    v8::HandleScope scope(js->v8);
    v8::TryCatch caught(js->v8); /* There is no way to throw from here. */
    void *name = cd_map_get_u64(&js->scripts, static_cast<uint64_t>(module->ScriptId()));
    js->catchers++;
    (void)js->hooks->import_meta(js, cd_str(static_cast<const char *>(name)), js_of(meta));
    js->catchers--;
}

void js_module_hooks(js_isolate *js)
{
    js->v8->SetHostImportModuleDynamicallyCallback(on_import);
    js->v8->SetHostInitializeImportMetaObjectCallback(on_meta);
}

void js_modules_clear(js_isolate *js)
{
    while (!cd_list_empty(&js->imports))
        import_free(CD_CONTAINER(cd_list_first(&js->imports), import_step, link));
    js->synthetic.clear();
    for (cd_map_node *n = cd_map_first(&js->scripts); n != nullptr; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&js->scripts);
}

/* ---- Source text modules */

int js_module_compile(js_isolate *js, const js_source *source, js_value *module, bool *cache_used)
{
    js_fallible(js);
    v8::Local<v8::String> text, name;
    if (!js_v8_string(js, source->text).ToLocal(&text) || !js_v8_string(js, source->name).ToLocal(&name))
        return JS_THREW;
    v8::ScriptCompiler::CachedData *cached = nullptr;
    if (source->cache.len > 0)
        cached = new v8::ScriptCompiler::CachedData(reinterpret_cast<const uint8_t *>(source->cache.ptr),
                                                    static_cast<int>(source->cache.len));
    v8::ScriptOrigin origin(name, 0, 0, false, -1, v8::Local<v8::Value>(), false, false, true);
    v8::ScriptCompiler::Source input(text, origin, cached); /* Owns cached, not its bytes. */
    v8::Local<v8::Module> m;
    if (!v8::ScriptCompiler::CompileModule(js->v8, &input,
                                           cached != nullptr ? v8::ScriptCompiler::kConsumeCodeCache
                                                             : v8::ScriptCompiler::kNoCompileOptions)
             .ToLocal(&m))
        return JS_THREW;
    if (cache_used != nullptr)
        *cache_used = cached != nullptr && !cached->rejected;
    cd_free(cd_map_put_u64(&js->scripts, static_cast<uint64_t>(m->ScriptId()), cd_str_dup(source->name)));
    *module = js_of(m);
    return 0;
}

int js_module_cache(js_isolate *js, js_value module, cd_buf *out)
{
    js_fallible(js);
    v8::Local<v8::Module> m = js_as<v8::Module>(module);
    CD_ASSERT(m->IsSourceTextModule());
    std::unique_ptr<v8::ScriptCompiler::CachedData> data(
        v8::ScriptCompiler::CreateCodeCache(m->GetUnboundModuleScript()));
    if (data == nullptr)
        return js_throw_error(js, JS_ERROR, "the module cannot be cached");
    cd_buf_add(out, data->data, static_cast<size_t>(data->length));
    return 0;
}

enum js_module_state js_module_state(js_value module)
{
    switch (js_as<v8::Module>(module)->GetStatus()) {
    case v8::Module::kUninstantiated:
    case v8::Module::kInstantiating: return JS_MODULE_NEW;
    case v8::Module::kInstantiated:
    case v8::Module::kEvaluating: return JS_MODULE_LINKED;
    case v8::Module::kEvaluated: return JS_MODULE_EVALUATED;
    case v8::Module::kErrored: return JS_MODULE_FAILED;
    }
    CD_UNREACHABLE();
}

int js_module_link(js_isolate *js, js_value module)
{
    js_fallible(js);
    v8::Local<v8::Module> m = js_as<v8::Module>(module);
    if (m->GetStatus() != v8::Module::kUninstantiated)
        return 0;
    return m->InstantiateModule(js_context(js), on_resolve).FromMaybe(false) ? 0 : JS_THREW;
}

int js_module_evaluate(js_isolate *js, js_value module, js_value *promise)
{
    js_fallible(js);
    v8::Local<v8::Module> m = js_as<v8::Module>(module);
    CD_ASSERT(m->GetStatus() >= v8::Module::kInstantiated);
    return js_give(m->Evaluate(js_context(js)), promise);
}

js_value js_module_namespace(js_value module)
{
    CD_ASSERT(js_as<v8::Module>(module)->GetStatus() >= v8::Module::kInstantiated);
    return js_of(js_as<v8::Module>(module)->GetModuleNamespace());
}

js_value js_module_error(js_value module)
{
    CD_ASSERT(js_as<v8::Module>(module)->GetStatus() == v8::Module::kErrored);
    return js_of(js_as<v8::Module>(module)->GetException());
}

bool js_module_is_async(js_value module)
{
    CD_ASSERT(js_as<v8::Module>(module)->GetStatus() >= v8::Module::kInstantiated);
    return js_as<v8::Module>(module)->IsGraphAsync();
}

/* ---- Synthetic modules */

static v8::MaybeLocal<v8::Value> on_synthetic(v8::Local<v8::Context> context, v8::Local<v8::Module> module)
{
    js_isolate *js = js_from(v8::Isolate::GetCurrent());
    v8::EscapableHandleScope scope(js->v8);
    size_t at = 0;
    while (at < js->synthetic.size() && js->synthetic[at].module != module)
        at++;
    CD_ASSERT(at < js->synthetic.size());
    js_synthetic s = std::move(js->synthetic[at]);
    js->synthetic.erase(js->synthetic.begin() + static_cast<std::ptrdiff_t>(at));
    v8::Local<v8::Array> values = s.values.Get(js->v8);
    for (size_t i = 0; i < s.names.size(); i++) {
        v8::Local<v8::Value> v;
        if (!values->Get(context, static_cast<uint32_t>(i)).ToLocal(&v) ||
            module->SetSyntheticModuleExport(js->v8, s.names[i].Get(js->v8), v).IsNothing())
            return {};
    }
    v8::Local<v8::Promise::Resolver> done;
    if (!v8::Promise::Resolver::New(context).ToLocal(&done) ||
        done->Resolve(context, v8::Undefined(js->v8)).IsNothing())
        return {};
    return scope.Escape(done->GetPromise());
}

int js_module_synthetic(js_isolate *js, struct cd_str name, const char *const *names, const js_value *values,
                        unsigned count, js_value *module)
{
    js_fallible(js);
    v8::Local<v8::String> module_name;
    if (!js_v8_string(js, name).ToLocal(&module_name))
        return JS_THREW;
    js_synthetic s;
    std::vector<v8::Local<v8::String>> exports;
    for (unsigned i = 0; i < count; i++) {
        exports.push_back(js_v8_text(js, names[i]));
        s.names.emplace_back(js->v8, exports.back());
    }
    s.values.Reset(js->v8, js_as<v8::Array>(js_array(js, values, count)));
    v8::Local<v8::Module> m = v8::Module::CreateSyntheticModule(
        js->v8, module_name, v8::MemorySpan<const v8::Local<v8::String>>(exports.data(), exports.size()),
        on_synthetic);
    s.module.Reset(js->v8, m);
    js->synthetic.push_back(std::move(s));
    *module = js_of(m);
    return 0;
}

int js_module_export(js_isolate *js, js_value module, const char *name, js_value v)
{
    js_fallible(js);
    v8::Local<v8::Module> m = js_as<v8::Module>(module);
    CD_ASSERT(m->IsSyntheticModule() && m->GetStatus() == v8::Module::kEvaluated);
    return js_done(m->SetSyntheticModuleExport(js->v8, js_v8_text(js, name), js_local(v)));
}
