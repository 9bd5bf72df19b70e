/* js/engine_error.cc: catching, throwing and describing exceptions. */
#include "js/engine_internal.h"

namespace
{
struct catcher {
    js_isolate *js;
    v8::TryCatch caught;
};
} /* namespace */
static_assert(sizeof(catcher) <= sizeof(js_try));

static catcher *catcher_of(const js_try *t)
{
    return reinterpret_cast<catcher *>(const_cast<void **>(t->opaque));
}

void js_try_begin(js_isolate *js, js_try *t)
{
    ::new (t->opaque) catcher{js, v8::TryCatch(js->v8)};
    js->catchers++;
}

void js_try_end(js_try *t)
{
    catcher *c = catcher_of(t);
    CD_ASSERT(c->js->catchers > 0);
    c->js->catchers--;
    c->~catcher();
}

bool js_try_caught(const js_try *t)
{
    return catcher_of(t)->caught.HasCaught();
}

bool js_try_terminated(const js_try *t)
{
    return catcher_of(t)->caught.HasTerminated();
}

js_value js_try_exception(const js_try *t)
{
    const catcher *c = catcher_of(t);
    if (!c->caught.HasCaught() || c->caught.HasTerminated())
        return nullptr;
    return js_of(c->caught.Exception());
}

void js_try_clear(js_try *t)
{
    catcher_of(t)->caught.Reset();
}

int js_try_rethrow(js_try *t)
{
    CD_ASSERT(catcher_of(t)->caught.HasCaught());
    catcher_of(t)->caught.ReThrow();
    return JS_THREW;
}

/* ---- Descriptions */

static void text_of(js_isolate *js, v8::Local<v8::Value> v, cd_buf *out)
{
    v8::Local<v8::String> s;
    if (v->IsSymbol()) {
        v = v.As<v8::Symbol>()->Description(js->v8);
        cd_buf_addf(out, "Symbol(");
        if (v->IsString())
            js_v8_utf8(js, v.As<v8::String>(), out);
        cd_buf_addf(out, ")");
    } else if (v->ToString(js_context(js)).ToLocal(&s)) {
        js_v8_utf8(js, s, out);
    }
}

static void property_text(js_isolate *js, v8::Local<v8::Object> from, const char *key, cd_buf *out)
{
    v8::Local<v8::Value> v;
    if (from->Get(js_context(js), js_v8_text(js, key)).ToLocal(&v) && v->IsString())
        js_v8_utf8(js, v.As<v8::String>(), out);
}

static void place_of(js_isolate *js, v8::Local<v8::Message> message, js_problem *out)
{
    v8::Local<v8::Context> context = js_context(js);
    v8::Local<v8::Value> script = message->GetScriptResourceName();
    if (script->IsString())
        js_v8_utf8(js, script.As<v8::String>(), &out->script);
    out->line = message->GetLineNumber(context).FromMaybe(0);
    out->column = message->GetStartColumn(context).FromMaybe(-1) + 1;
    v8::Local<v8::String> line;
    if (message->GetSourceLine(context).ToLocal(&line))
        js_v8_utf8(js, line, &out->source_line);
}

void js_problem_fill(js_isolate *js, v8::Local<v8::Value> exception, v8::Local<v8::Message> message,
                     js_problem *out)
{
    js_problem_deinit(out);
    v8::TryCatch guard(js->v8);
    if (!message.IsEmpty())
        place_of(js, message, out);
    if (!exception->IsObject() || exception->IsFunction()) {
        text_of(js, exception, &out->message);
        return;
    }
    v8::Local<v8::Object> object = exception.As<v8::Object>();
    property_text(js, object, "name", &out->name);
    guard.Reset();
    property_text(js, object, "message", &out->message);
    guard.Reset();
    property_text(js, object, "stack", &out->stack);
    guard.Reset();
    if (out->name.len == 0 && out->message.len == 0)
        text_of(js, exception, &out->message);
    if (out->name.len == 0 && out->message.len == 0) /* A Proxy, say, whose traps throw. */
        cd_buf_addf(&out->message, "an error without a text");
}

void js_try_problem(js_try *t, js_problem *out)
{
    catcher *c = catcher_of(t);
    CD_ASSERT(c->caught.HasCaught());
    if (c->caught.HasTerminated()) {
        js_problem_deinit(out);
        out->terminated = true;
        return;
    }
    v8::HandleScope scope(c->js->v8);
    js_problem_fill(c->js, c->caught.Exception(), c->caught.Message(), out);
}

void js_problem_of(js_isolate *js, js_value exception, js_problem *out)
{
    v8::HandleScope scope(js->v8);
    js_problem_fill(js, js_local(exception), v8::Exception::CreateMessage(js->v8, js_local(exception)), out);
}

void js_problem_deinit(js_problem *p)
{
    cd_buf_deinit(&p->name);
    cd_buf_deinit(&p->message);
    cd_buf_deinit(&p->stack);
    cd_buf_deinit(&p->script);
    cd_buf_deinit(&p->source_line);
    p->line = p->column = 0;
    p->terminated = false;
}

/* ---- Stacks */

static void part_of(js_isolate *js, v8::Local<v8::Object> error, const char *key, const char *otherwise,
                    cd_buf *out)
{
    v8::Local<v8::Value> v;
    if (!error->Get(js_context(js), js_v8_text(js, key)).ToLocal(&v))
        return;
    if (v->IsUndefined())
        cd_buf_addf(out, "%s", otherwise);
    else
        text_of(js, v, out);
}

/* Between a method of V8's and who called it may stand ours of that name, which says nothing to anybody:
 * runtime/arrays.js. */
static bool is_between(struct cd_str line, struct cd_str before)
{
    size_t name = cd_str_find_str(before, cd_str(" (<anonymous>)"), 0);
    return name != SIZE_MAX && cd_str_starts(line, cd_str_sub(before, 0, name)) &&
           cd_str_starts(cd_str_sub(line, name, SIZE_MAX), cd_str(" (celld:prelude:"));
}

/* As V8 writes it: a callback for stacks has to make all of the text. */
static void stack_text(js_isolate *js, v8::Local<v8::Value> error, v8::Local<v8::Array> sites, cd_buf *out)
{
    v8::TryCatch guard(js->v8);
    if (error->IsObject()) {
        cd_buf message = {};
        part_of(js, error.As<v8::Object>(), "name", "Error", out);
        part_of(js, error.As<v8::Object>(), "message", "", &message);
        if (out->len > 0 && message.len > 0)
            cd_buf_addf(out, ": ");
        cd_buf_add_str(out, cd_buf_str(&message));
        cd_buf_deinit(&message);
    } else {
        text_of(js, error, out);
    }
    cd_buf line = {}, before = {};
    for (uint32_t i = 0; i < sites->Length(); i++) {
        v8::Local<v8::Value> site;
        if (!sites->Get(js_context(js), i).ToLocal(&site))
            break;
        cd_buf_clear(&line);
        text_of(js, site, &line);
        if (!is_between(cd_buf_str(&line), cd_buf_str(&before))) {
            cd_buf_addf(out, "\n    at ");
            cd_buf_add_str(out, cd_buf_str(&line));
        }
        cd_buf_clear(&before);
        cd_buf_add_str(&before, cd_buf_str(&line));
    }
    cd_buf_deinit(&line);
    cd_buf_deinit(&before);
}

static v8::MaybeLocal<v8::Value> on_stack(v8::Local<v8::Context> context, v8::Local<v8::Value> error,
                                          v8::Local<v8::Array> sites)
{
    js_isolate *js = js_from(context->GetIsolate());
    v8::Local<v8::Value> cls, own;
    if (!context->Global()->Get(context, js_v8_text(js, "Error")).ToLocal(&cls))
        return {};
    if (cls->IsObject()) {
        if (!cls.As<v8::Object>()->Get(context, js_v8_text(js, "prepareStackTrace")).ToLocal(&own))
            return {};
        v8::Local<v8::Value> args[] = {error, sites};
        if (own->IsFunction())
            return own.As<v8::Function>()->Call(context, cls, 2, args);
    }
    cd_buf stack = {}, shown = {};
    stack_text(js, error, sites, &stack);
    const cd_buf *text = js->hooks->stack(js, cd_buf_str(&stack), &shown) ? &shown : &stack;
    v8::MaybeLocal<v8::String> made =
        v8::String::NewFromUtf8(js->v8, text->ptr, v8::NewStringType::kNormal, static_cast<int>(text->len));
    cd_buf_deinit(&stack);
    cd_buf_deinit(&shown);
    v8::Local<v8::String> result;
    if (!made.ToLocal(&result))
        return v8::Undefined(js->v8);
    return result;
}

void js_stack_hook(js_isolate *js)
{
    CD_ASSERT(js->hooks != nullptr && js->hooks->stack != nullptr);
    js->v8->SetPrepareStackTraceCallback(on_stack);
}

/* ---- Throwing */

static v8::Local<v8::Value> error_of(js_error_kind kind, v8::Local<v8::String> message)
{
    switch (kind) {
    case JS_ERROR: return v8::Exception::Error(message);
    case JS_TYPE_ERROR: return v8::Exception::TypeError(message);
    case JS_RANGE_ERROR: return v8::Exception::RangeError(message);
    case JS_SYNTAX_ERROR: return v8::Exception::SyntaxError(message);
    case JS_WASM_COMPILE_ERROR: return v8::Exception::WasmCompileError(message);
    }
    CD_UNREACHABLE();
}

/* Texts that come from C are far below the limit of strings. */
static v8::Local<v8::String> message_of(js_isolate *js, const char *text, size_t len)
{
    CD_ASSERT(len < (1u << 20));
    return v8::String::NewFromUtf8(js->v8, text, v8::NewStringType::kNormal, static_cast<int>(len))
        .ToLocalChecked();
}

js_value js_error_new(js_isolate *js, js_error_kind kind, struct cd_str message)
{
    return js_of(error_of(kind, message_of(js, message.ptr, message.len)));
}

int js_throw(js_isolate *js, js_value exception)
{
    js_fallible(js);
    js->v8->ThrowException(js_local(exception));
    return JS_THREW;
}

int js_throw_error(js_isolate *js, js_error_kind kind, const char *format, ...)
{
    cd_buf text = {};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    v8::HandleScope scope(js->v8);
    int rc = js_throw(js, js_of(error_of(kind, message_of(js, text.ptr, text.len))));
    cd_buf_deinit(&text);
    return rc;
}

int js_throw_dom_text(js_isolate *js, const char *name, v8::Local<v8::String> message)
{
    js_fallible(js);
    v8::HandleScope scope(js->v8);
    v8::Local<v8::Context> context = js_context(js);
    if (js->dom_exception.IsEmpty()) {
        v8::Local<v8::Value> prelude = context->GetEmbedderData(JS_CONTEXT_PRELUDE);
        v8::Local<v8::Value> found;
        if (prelude->IsObject()) {
            if (!prelude.As<v8::Object>()->Get(context, js_v8_text(js, "DOMException")).ToLocal(&found))
                return JS_THREW;
            if (found->IsFunction())
                js->dom_exception.Reset(js->v8, found.As<v8::Function>());
        }
    }
    v8::Local<v8::Value> error;
    if (!js->dom_exception.IsEmpty()) {
        v8::Local<v8::Value> argv[] = {message, js_v8_text(js, name)};
        if (!js->dom_exception.Get(js->v8)->NewInstance(context, 2, argv).ToLocal(&error))
            return JS_THREW;
    } else {
        error = v8::Exception::Error(message);
        if (error.As<v8::Object>()->Set(context, js_v8_text(js, "name"), js_v8_text(js, name)).IsNothing())
            return JS_THREW;
    }
    js->v8->ThrowException(error);
    return JS_THREW;
}

int js_throw_dom(js_isolate *js, const char *name, const char *format, ...)
{
    cd_buf text = {};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    v8::HandleScope scope(js->v8);
    int rc = js_throw_dom_text(js, name, message_of(js, text.ptr, text.len));
    cd_buf_deinit(&text);
    return rc;
}
