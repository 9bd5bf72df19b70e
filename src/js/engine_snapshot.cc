/* js/engine_snapshot.cc: runs the prelude and keeps the heap it leaves. */
#include "js/engine_internal.h"

/* V8's own two functions for the value that promises carry along: calls of them are compiled in place, while
 * a host function costs a tenth of a microsecond, and each event switches frames dozens of times. */
static bool add_frames(js_isolate *js, v8::Local<v8::Context> context, v8::Local<v8::Object> host)
{
    static const char *const names[][2] = {{"frame_get", "getContinuationPreservedEmbedderData"},
                                           {"frame_set", "setContinuationPreservedEmbedderData"}};
    for (const auto &name : names) {
        v8::Local<v8::Value> f;
        if (!context->GetExtrasBindingObject()->Get(context, js_v8_text(js, name[1])).ToLocal(&f))
            return false;
        CD_ASSERT(f->IsFunction());
        if (host->Set(context, js_v8_text(js, name[0]), f).IsNothing())
            return false;
    }
    return true;
}

static v8::MaybeLocal<v8::Object> host_object(js_isolate *js, v8::Local<v8::Context> context)
{
    /* Without a prototype: nothing in it can be reached through Object.prototype. */
    v8::Local<v8::Object> host = js_as<v8::Object>(js_object_bare(js));
    for (unsigned i = 0; i < js->op_count; i++) {
        v8::Local<v8::Function> f;
        v8::Local<v8::String> name = js_v8_text(js, js->ops[i].name);
        if (!v8::Function::New(context, js_trampoline, v8::Integer::NewFromUnsigned(js->v8, i), 0,
                               v8::ConstructorBehavior::kThrow)
                 .ToLocal(&f))
            return {};
        f->SetName(name);
        if (host->Set(context, name, f).IsNothing())
            return {};
    }
    if (!add_frames(js, context, host))
        return {};
    return host;
}

/* js_prelude_source::the() has the text. */
static int prelude_run(js_isolate *js, v8::Local<v8::Context> context, const char *name)
{
    js_value exports;
    v8::Local<v8::String> text;
    v8::Local<v8::Script> script;
    v8::Local<v8::Value> value;
    v8::ScriptOrigin origin(js_v8_text(js, name));
    if (!v8::String::NewExternalOneByte(js->v8, js_prelude_source::the()).ToLocal(&text) ||
        !v8::Script::Compile(context, text, &origin).ToLocal(&script) ||
        !script->Run(context).ToLocal(&value))
        return JS_THREW;
    js_value function = js_of(value);
    v8::Local<v8::Object> host;
    if (!host_object(js, context).ToLocal(&host))
        return JS_THREW;
    js_value argv[] = {js_of(host)};
    int rc = js_call(js, function, js_undefined(js), argv, 1, &exports);
    if (rc != 0)
        return rc;
    js->v8->PerformMicrotaskCheckpoint();
    context->SetEmbedderData(JS_CONTEXT_PRELUDE, js_local(exports));
    return 0;
}

static int context_make(js_isolate *js, v8::SnapshotCreator *creator, const char *name, cd_buf *why)
{
    v8::HandleScope scope(js->v8);
    v8::Local<v8::Context> context = v8::Context::New(js->v8);
    v8::Context::Scope enter(context);
    js_try t;
    js_try_begin(js, &t);
    int rc = prelude_run(js, context, name);
    if (rc != 0) {
        js_problem p = {};
        js_try_problem(&t, &p);
        cd_buf_addf(why, "%s:%d:%d: %s: %s", cd_buf_cstr(&p.script), p.line, p.column, cd_buf_cstr(&p.name),
                    cd_buf_cstr(&p.message));
        js_problem_deinit(&p);
        rc = CD_EINVAL;
    }
    js_try_end(&t);
    /* Even after a failure: a creator that was given no context cannot be destroyed. */
    creator->SetDefaultContext(context);
    return rc;
}

int js_snapshot_build(struct cd_str prelude, const char *name, const js_op *ops, unsigned op_count,
                      cd_buf *out, cd_buf *why)
{
    for (size_t i = 0; i < prelude.len; i++) {
        if (static_cast<unsigned char>(prelude.ptr[i]) >= 0x80) {
            cd_buf_addf(why, "byte %zu of the prelude is not ASCII: V8 would keep all of it twice as large",
                        i);
            return CD_EINVAL;
        }
    }
    cd_buf source = {};
    cd_buf_addf(&source, "(");
    cd_buf_add_str(&source, prelude);
    cd_buf_addf(&source, "\n)");
    js_prelude_source::the()->set(cd_buf_str(&source));
    js_isolate *js = js_isolate_alloc(ops, op_count, UINT64_C(1) << 30);
    int rc;
    {
        v8::Isolate::CreateParams params;
        params.array_buffer_allocator_shared = js->buffers;
        params.external_references = js_external_references;
        v8::SnapshotCreator creator(js->v8, params);
        js->v8->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
        rc = context_make(js, &creator, name, why);
        v8::StartupData blob = creator.CreateBlob(v8::SnapshotCreator::FunctionCodeHandling::kKeep);
        if (rc == 0) {
            js_blob_header h = {};
            memcpy(h.magic, "CELLDJS2", sizeof h.magic);
            h.ops = js_ops_hash(ops, op_count);
            h.size = static_cast<uint64_t>(blob.raw_size);
            h.source = source.len;
            CD_ASSERT(strlen(v8::V8::GetVersion()) < sizeof h.version);
            memcpy(h.version, v8::V8::GetVersion(), strlen(v8::V8::GetVersion()));
            cd_buf_add(out, &h, sizeof h);
            cd_buf_add(out, blob.data, static_cast<size_t>(blob.raw_size));
            cd_buf_add_str(out, cd_buf_str(&source));
        }
        delete[] blob.data;
    }
    js->dom_exception.Reset();
    js->v8->Dispose();
    js_isolate_discard(js);
    js_prelude_source::the()->set({});
    cd_buf_deinit(&source);
    return rc;
}
