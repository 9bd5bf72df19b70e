/* js/engine_isolate.cc: isolates, turns, scopes, references, heap limits, host functions. */
#include "js/engine_internal.h"

/* ---- Array buffers */

bool js_buffers::take(uint64_t length)
{
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
        if (length > limit_ || used > limit_ - length) {
            refused_.store(true, std::memory_order_relaxed);
            return false;
        }
    } while (!used_.compare_exchange_weak(used, used + length, std::memory_order_relaxed));
    return true;
}

void js_buffers::give(uint64_t length)
{
    used_.fetch_sub(length, std::memory_order_relaxed);
}

void *js_buffers::Allocate(size_t length)
{
    if (!take(length))
        return nullptr;
    /* tidy(banned-calls): the length is the user's, so failing is an ordinary RangeError, not an abort. */
    void *data = calloc(length == 0 ? 1 : length, 1);
    if (data == nullptr)
        give(length);
    return data;
}

void *js_buffers::AllocateUninitialized(size_t length)
{
    return Allocate(length);
}

void js_buffers::Free(void *data, size_t length)
{
    free(data); /* tidy(banned-calls): of calloc above. */
    give(length);
}

/* ---- Host functions */

void js_trampoline(const v8::FunctionCallbackInfo<v8::Value> &info)
{
    js_isolate *js = js_from(info.GetIsolate());
    js_args a;
    a.js = js;
    a.count = static_cast<unsigned>(info.Length());
    a.first = reinterpret_cast<char *>(js_of(info[0]));
    a.this_value = js_of(info.This());
    a.info = &info;
    js_host_fn *fn;
    v8::Local<v8::Value> data = info.Data();
    if (data->IsExternal()) {
        js_bound *b = static_cast<js_bound *>(data.As<v8::External>()->Value());
        fn = b->fn;
        a.user = b->user;
    } else {
        uint32_t index = data.As<v8::Uint32>()->Value();
        CD_ASSERT(index < js->op_count);
        fn = js->ops[index].fn;
        a.user = nullptr;
    }
    if (fn == nullptr) {
        js->v8->ThrowException(
            v8::Exception::Error(js_v8_text(js, "host functions are absent while a snapshot is built")));
        return;
    }
    js->catchers++;
    int rc = fn(&a);
    js->catchers--;
    if (rc == 0)
        return;
    if (rc != JS_THREW)
        js->v8->ThrowException(v8::Exception::Error(js_v8_text(js, cd_err_text(rc))));
    else
        CD_ASSERT(js->v8->HasPendingException() || js->v8->IsExecutionTerminating());
}

namespace
{
alignas(js_prelude_source) unsigned char prelude_room[sizeof(js_prelude_source)];
}

js_prelude_source *js_prelude_source::the()
{
    return std::launder(reinterpret_cast<js_prelude_source *>(prelude_room));
}

void js_prelude_source::make()
{
    new (prelude_room) js_prelude_source;
}

const intptr_t js_external_references[] = {reinterpret_cast<intptr_t>(js_trampoline),
                                           reinterpret_cast<intptr_t>(prelude_room), 0};

static const v8::FunctionCallbackInfo<v8::Value> *info_of(const js_args *a)
{
    return static_cast<const v8::FunctionCallbackInfo<v8::Value> *>(a->info);
}

js_value js_arg(const js_args *a, unsigned index)
{
    return js_of((*info_of(a))[static_cast<int>(index < a->count ? index : a->count)]);
}

bool js_is_construct(const js_args *a)
{
    return info_of(a)->IsConstructCall();
}

void js_return(js_args *a, js_value v)
{
    info_of(a)->GetReturnValue().Set(js_local(v));
}

void js_return_bool(js_args *a, bool v)
{
    info_of(a)->GetReturnValue().Set(v);
}

void js_return_int(js_args *a, int32_t v)
{
    info_of(a)->GetReturnValue().Set(v);
}

void js_return_number(js_args *a, double v)
{
    info_of(a)->GetReturnValue().Set(v);
}

uint64_t js_ops_hash(const js_op *ops, unsigned count)
{
    /* FNV-1a over the names with their NULs. */
    uint64_t h = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < count; i++) {
        for (const char *p = ops[i].name;; p++) {
            h = (h ^ static_cast<uint8_t>(*p)) * 0x100000001b3u;
            if (*p == 0)
                break;
        }
    }
    return h;
}

/* ---- V8's callbacks */

static void on_rejection(v8::PromiseRejectMessage message)
{
    js_isolate *js = js_from(message.GetPromise()->GetIsolate());
    if (js->hooks == nullptr || js->hooks->rejection == nullptr)
        return;
    v8::HandleScope scope(js->v8);
    js_value promise = js_of(message.GetPromise());
    if (message.GetEvent() == v8::kPromiseRejectWithNoHandler)
        js->hooks->rejection(js, JS_REJECTED_UNHANDLED, promise, js_of(message.GetValue()));
    else if (message.GetEvent() == v8::kPromiseHandlerAddedAfterReject)
        js->hooks->rejection(js, JS_REJECTION_HANDLED, promise, js_of(v8::Undefined(js->v8)));
}

static void on_message(v8::Local<v8::Message> message, v8::Local<v8::Value> exception)
{
    js_isolate *js = js_from(message->GetIsolate());
    if (js->hooks == nullptr || js->hooks->uncaught == nullptr || exception.IsEmpty())
        return;
    v8::HandleScope scope(js->v8);
    js_problem problem = {};
    js_problem_fill(js, exception, message, &problem);
    js->hooks->uncaught(js, js_of(exception), &problem);
    js_problem_deinit(&problem);
}

/* At the end of the reserve: no object is larger (2^27 elements, 2^29 units), so the allocation that is under
 * way succeeds and the termination is seen. Were it refused, V8 would end the process. Only what is filled is
 * ever resident. */
static constexpr size_t LAST_ALLOCATION_MAX = size_t{4} << 30;

/* runtime.md 2.9. At the limit JavaScript goes on in a reserve, so that it can unwind and its owner can act;
 * at the end of the reserve it is terminated. */
static size_t on_heap_limit(void *data, size_t current, size_t initial)
{
    js_isolate *js = static_cast<js_isolate *>(data);
    size_t next = current + (size_t{16} << 20);
    next = next > 2 * initial ? next : 2 * initial;
    js->v8_limit = initial;
    /* One large object can pass the limit and the reserve at once, and V8 ends the process if what is in use
     * is still over the limit that it gets. */
    v8::HeapStatistics stats;
    js->v8->GetHeapStatistics(&stats);
    if (js->heap_state == JS_HEAP_OK && stats.total_heap_size() < next) {
        js->heap_state = JS_HEAP_OVER;
    } else {
        js->heap_state = JS_HEAP_EXHAUSTED;
        next = current + LAST_ALLOCATION_MAX;
        js_terminate(js);
    }
    if (js->hooks != nullptr && js->hooks->heap != nullptr)
        js->hooks->heap(js, js->heap_state);
    return next;
}

/* V8 counts all that is outside of its heap in one number. */
static uint64_t wasm_bytes(js_isolate *js)
{
    int64_t all = js->v8->AdjustAmountOfExternalAllocatedMemory(0);
    int64_t wasm = all - js->external - static_cast<int64_t>(js->buffers->used());
    return wasm > 0 ? static_cast<uint64_t>(wasm) : 0;
}

static bool memory_is_over(js_isolate *js)
{
    uint64_t wasm = wasm_bytes(js);
    return wasm > 0 && wasm + js->buffers->used() > js->buffers->limit();
}

static void memory_look(js_isolate *js)
{
    js->looking = true;
    if (memory_is_over(js))
        js->v8->LowMemoryNotification(); /* Some of it may be garbage. */
    js->looking = false;
    if (!memory_is_over(js) || js->heap_state == JS_HEAP_EXHAUSTED)
        return;
    js->heap_state = JS_HEAP_EXHAUSTED;
    js_terminate(js);
    if (js->hooks != nullptr && js->hooks->heap != nullptr)
        js->hooks->heap(js, js->heap_state);
}

void js_memory_look(js_isolate *js)
{
    if (!js->looking)
        memory_look(js);
}

/* Inside the collector nothing can be collected: JavaScript, which goes on, is interrupted for that. */
static void on_collected(v8::Isolate *isolate, v8::GCType, v8::GCCallbackFlags, void *data)
{
    js_isolate *js = static_cast<js_isolate *>(data);
    if (js->looking || js->turns == 0 || js->heap_state == JS_HEAP_EXHAUSTED || !memory_is_over(js))
        return;
    js->looking = true;
    isolate->RequestInterrupt([](v8::Isolate *, void *of) { memory_look(static_cast<js_isolate *>(of)); },
                              js);
}

void js_isolate_hooks(js_isolate *js)
{
    js->v8->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
    js->v8->SetPromiseRejectCallback(on_rejection);
    js->v8->SetAllowAtomicsWait(false);
    js->v8->AddMessageListener(on_message);
    js_module_hooks(js);
}

/* ---- Isolates */

js_isolate *js_isolate_alloc(const js_op *ops, unsigned op_count, uint64_t external_limit)
{
    CD_ASSERT(js_platform_running());
    js_isolate *js = new js_isolate();
    js->ops = ops;
    js->op_count = op_count;
    js->buffers = std::make_shared<js_buffers>(external_limit);
    js->tasks = std::make_shared<js_tasks>(js);
    cd_list_init(&js->weak);
    cd_list_init(&js->bound);
    cd_list_init(&js->imports);
    js->v8 = v8::Isolate::Allocate();
    js->v8->SetData(JS_SLOT, js);
    return js;
}

static int blob_check(const js_isolate_config *config, struct cd_str *blob, struct cd_str *source,
                      cd_buf *why)
{
    js_blob_header h;
    if (config->snapshot.len < sizeof h ||
        (memcpy(&h, config->snapshot.ptr, sizeof h), memcmp(h.magic, "CELLDJS2", 8) != 0)) {
        cd_buf_addf(why, "the startup snapshot is none: %zu bytes", config->snapshot.len);
        return CD_EINVAL;
    }
    h.version[sizeof h.version - 1] = 0;
    if (strcmp(h.version, v8::V8::GetVersion()) != 0) {
        cd_buf_addf(why, "the startup snapshot was made by V8 %s, this is %s", h.version,
                    v8::V8::GetVersion());
        return CD_EINVAL;
    }
    if (h.ops != js_ops_hash(config->ops, config->op_count)) {
        cd_buf_addf(why, "the startup snapshot was made for other host functions");
        return CD_EINVAL;
    }
    size_t size = config->snapshot.len - sizeof h;
    if (h.size > size || h.source != size - h.size) {
        cd_buf_addf(why, "the startup snapshot is cut: %zu bytes, want %zu", size,
                    static_cast<size_t>(h.size + h.source));
        return CD_EINVAL;
    }
    *blob = cd_str_of(config->snapshot.ptr + sizeof h, static_cast<size_t>(h.size));
    *source = cd_str_of(blob->ptr + blob->len, static_cast<size_t>(h.source));
    return 0;
}

int js_isolate_new(js_isolate **out, const js_isolate_config *config, cd_buf *why)
{
    struct cd_str blob, source;
    int rc = blob_check(config, &blob, &source, why);
    if (rc != 0)
        return rc;
    js_prelude_source::the()->set(source);
    uint64_t heap_limit = config->heap_limit != 0 ? config->heap_limit : JS_HEAP_LIMIT;
    js_isolate *js = js_isolate_alloc(config->ops, config->op_count,
                                      config->external_limit != 0 ? config->external_limit : 4 * heap_limit);
    js->names = config->names;
    js->name_count = config->name_count;
    js->hooks = config->hooks;
    js->user = config->user;
    js->heap_limit = heap_limit;
    js->name_cache.resize(config->name_count);
    js->private_cache.resize(config->name_count);
    js->blob.data = blob.ptr;
    js->blob.raw_size = static_cast<int>(blob.len);

    v8::Isolate::CreateParams params;
    params.snapshot_blob = &js->blob;
    params.external_references = js_external_references;
    params.array_buffer_allocator_shared = js->buffers;
    params.constraints.ConfigureDefaultsFromHeapSize(0, heap_limit);
    v8::Isolate::Initialize(js->v8, params);
    js_isolate_hooks(js);
    js->v8->AddNearHeapLimitCallback(on_heap_limit, js);
    js->v8->AddGCEpilogueCallback(on_collected, js);

    v8::Isolate::Scope enter(js->v8);
    v8::HandleScope scope(js->v8);
    v8::Local<v8::Context> context = v8::Context::New(js->v8);
    js->context.Reset(js->v8, context);
    *out = js;
    return 0;
}

void js_isolate_discard(js_isolate *js)
{
    js->tasks->close();
    cd_map_deinit(&js->scripts);
    delete js;
}

void js_isolate_free(js_isolate *js)
{
    CD_ASSERT(js->turns == 0);
    CD_ASSERT(js->catchers == 0);
    for (cd_link *k; (k = cd_list_pop(&js->weak)) != nullptr;) {
        js_weak *w = CD_CONTAINER(k, js_weak, link);
        js_weak_clear(w);
        w->finalize(w);
    }
    for (cd_link *k; (k = cd_list_pop(&js->bound)) != nullptr;)
        delete CD_CONTAINER(k, js_bound, link);
    js_modules_clear(js);
    js->context.Reset();
    js->dom_exception.Reset();
    js->v8->RemoveNearHeapLimitCallback(on_heap_limit, 0);
    js->v8->RemoveGCEpilogueCallback(on_collected, js);
    js_tasks::tearing_down = true;
    js->v8->Dispose();
    js_tasks::tearing_down = false;
    js_isolate_discard(js);
}

void *js_isolate_user(const js_isolate *js)
{
    return js->user;
}

/* ---- Turns and scopes */

namespace
{
struct turn {
    js_isolate *js;
    v8::HandleScope scope;
};
/* The two kinds differ: an escapable scope takes a handle of the scope around it when it opens, so a loop of
 * them would fill that one. */
struct scope {
    alignas(v8::EscapableHandleScope) char handles[sizeof(v8::EscapableHandleScope)];
    bool escapable;
};
} /* namespace */
static_assert(sizeof(turn) <= sizeof(js_turn));
static_assert(sizeof(scope) <= sizeof(js_scope));

void js_turn_begin(js_isolate *js, js_turn *t)
{
    js->v8->Enter();
    ::new (t->opaque) turn{js, v8::HandleScope(js->v8)};
    js->context.Get(js->v8)->Enter();
    js->turns++;
}

void js_turn_end(js_turn *t)
{
    turn *open = reinterpret_cast<turn *>(t->opaque);
    js_isolate *js = open->js;
    CD_ASSERT(js->turns > 0);
    if (--js->turns == 0)
        js->terminate_asked = false;
    js->context.Get(js->v8)->Exit();
    open->~turn();
    js->v8->Exit();
}

bool js_in_turn(const js_isolate *js)
{
    return js->turns > 0;
}

js_isolate *js_current(void)
{
    v8::Isolate *isolate = v8::Isolate::TryGetCurrent();
    return isolate == nullptr ? nullptr : js_from(isolate);
}

static scope *scope_of(js_scope *s)
{
    return reinterpret_cast<scope *>(s->opaque);
}

void js_scope_open(js_isolate *js, js_scope *s)
{
    ::new (scope_of(s)->handles) v8::HandleScope(js->v8);
    scope_of(s)->escapable = false;
}

void js_scope_open_escapable(js_isolate *js, js_scope *s)
{
    ::new (scope_of(s)->handles) v8::EscapableHandleScope(js->v8);
    scope_of(s)->escapable = true;
}

void js_scope_close(js_scope *s)
{
    if (scope_of(s)->escapable)
        reinterpret_cast<v8::EscapableHandleScope *>(scope_of(s)->handles)->~EscapableHandleScope();
    else
        reinterpret_cast<v8::HandleScope *>(scope_of(s)->handles)->~HandleScope();
}

js_value js_scope_escape(js_scope *s, js_value v)
{
    CD_ASSERT(scope_of(s)->escapable);
    return js_of(reinterpret_cast<v8::EscapableHandleScope *>(scope_of(s)->handles)->Escape(js_local(v)));
}

int js_microtasks(js_isolate *js)
{
    v8::TryCatch guard(js->v8);
    js->catchers++;
    js->v8->PerformMicrotaskCheckpoint();
    js->catchers--;
    return guard.HasTerminated() || js->v8->IsExecutionTerminating() ? JS_THREW : 0;
}

bool js_pump(js_isolate *js)
{
    v8::TryCatch guard(js->v8);
    js->catchers++;
    bool any = js->tasks->run_due(js_platform_now_ns());
    js->catchers--;
    return any;
}

uint64_t js_next_task_ns(const js_isolate *js)
{
    return js->tasks->next_ns();
}

void js_terminate(js_isolate *js)
{
    js->terminate_asked = true;
    js->v8->TerminateExecution();
}

void js_resume(js_isolate *js)
{
    js->terminate_asked = false;
    js->v8->CancelTerminateExecution();
}

bool js_terminating(js_isolate *js)
{
    return js->v8->IsExecutionTerminating();
}

bool js_terminate_asked(const js_isolate *js)
{
    return js->terminate_asked;
}

void js_allow_eval(js_isolate *js, bool allowed)
{
    v8::Local<v8::Context> context = js_context(js);
    context->AllowCodeGenerationFromStrings(allowed);
    context->SetErrorMessageForCodeGenerationFromStrings(
        js_v8_text(js, "Code generation from strings disallowed for this context"));
}

/* ---- Heap */

void js_heap_stats(js_isolate *js, js_heap *out)
{
    v8::HeapStatistics stats;
    js->v8->GetHeapStatistics(&stats);
    out->used = stats.used_heap_size();
    out->committed = stats.total_heap_size();
    out->limit = stats.heap_size_limit();
    out->array_buffers = js->buffers->used();
    out->wasm = wasm_bytes(js);
    out->external = out->array_buffers + static_cast<uint64_t>(js->external);
    out->state = js->heap_state;
}

bool js_buffers_refused(js_isolate *js)
{
    return js->buffers->take_refused();
}

void js_gc(js_isolate *js)
{
    js->v8->LowMemoryNotification();
}

enum js_heap_state js_heap_state_of(const js_isolate *js)
{
    return js->heap_state;
}

bool js_heap_recover(js_isolate *js)
{
    v8::HeapStatistics stats;
    js->v8->GetHeapStatistics(&stats);
    if (js->heap_state == JS_HEAP_OK)
        return true;
    if (stats.used_heap_size() >= js->heap_limit / 4 * 3)
        return false;
    /* Taking the callback away with a limit is V8's way to set one. */
    js->v8->RemoveNearHeapLimitCallback(on_heap_limit, js->v8_limit);
    js->v8->AddNearHeapLimitCallback(on_heap_limit, js);
    js->heap_state = JS_HEAP_OK;
    return true;
}

void js_external_memory(js_isolate *js, int64_t change)
{
    js->external += change;
    CD_ASSERT(js->external >= 0);
    js->v8->AdjustAmountOfExternalAllocatedMemory(change);
}

js_value js_prelude(js_isolate *js)
{
    return js_of(js_context(js)->GetEmbedderData(JS_CONTEXT_PRELUDE));
}

js_value js_global(js_isolate *js)
{
    return js_of(js_context(js)->Global());
}

js_value js_continuation(js_isolate *js)
{
    return js_of(js->v8->GetContinuationPreservedEmbedderData());
}

void js_continuation_set(js_isolate *js, js_value v)
{
    js->v8->SetContinuationPreservedEmbedderData(js_local(v));
}

/* ---- References */

static_assert(sizeof(v8::Global<v8::Value>) == sizeof(void *));

static v8::Global<v8::Value> *global_of(void **slot)
{
    return reinterpret_cast<v8::Global<v8::Value> *>(slot);
}

void js_ref_set(js_isolate *js, js_ref *r, js_value v)
{
    global_of(&r->slot)->Reset(js->v8, js_local(v));
}

void js_ref_clear(js_ref *r)
{
    global_of(&r->slot)->Reset();
}

js_value js_ref_get(js_isolate *js, const js_ref *r)
{
    if (r->slot == nullptr)
        return nullptr;
    return js_of(global_of(const_cast<void **>(&r->slot))->Get(js->v8));
}

/* Inside the collector. A second pass would be V8's way to call more than this, but between the two w could
 * be freed by its owner. */
static void weak_gone(const v8::WeakCallbackInfo<js_weak> &info)
{
    js_weak *w = info.GetParameter();
    js_weak_clear(w);
    w->finalize(w);
}

void js_weak_set(js_isolate *js, js_weak *w, js_value v, void (*finalize)(js_weak *w))
{
    w->slot = nullptr;
    w->finalize = finalize;
    w->link = {};
    global_of(&w->slot)->Reset(js->v8, js_local(v));
    global_of(&w->slot)->SetWeak(w, weak_gone, v8::WeakCallbackType::kParameter);
    cd_list_push(&js->weak, &w->link);
}

js_value js_weak_get(js_isolate *js, const js_weak *w)
{
    if (w->slot == nullptr)
        return nullptr;
    v8::Local<v8::Value> v = global_of(const_cast<void **>(&w->slot))->Get(js->v8);
    return v.IsEmpty() ? nullptr : js_of(v);
}

void js_weak_clear(js_weak *w)
{
    global_of(&w->slot)->Reset();
    cd_link_remove(&w->link);
}
