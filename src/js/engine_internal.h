/* js/engine_internal.h: what the engine's C++ files share. C++20 without exceptions and without run-time
 * types: nothing may be thrown into the C that calls us, and libnode exports no type information. */
#ifndef JS_ENGINE_INTERNAL_H
#define JS_ENGINE_INTERNAL_H

#include <v8.h>

#include <atomic>
#include <stdlib.h>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

extern "C" {
#include "base/map.h"
#include "js/engine.h"
#include "js/module.h"
#include "js/parcel.h"
#include "js/snapshot.h"
#include "js/value.h"
}

/* One slot pointer is one js_value: a v8::Local holds nothing else. */
static_assert(sizeof(v8::Local<v8::Value>) == sizeof(js_value));

static inline js_value js_of(v8::Local<v8::Data> local)
{
    return reinterpret_cast<js_value>(*local);
}

static inline v8::Local<v8::Value> js_local(js_value v)
{
    v8::Local<v8::Value> local;
    memcpy(static_cast<void *>(&local), &v, sizeof v);
    return local;
}

template <class T> static inline v8::Local<T> js_as(js_value v)
{
    v8::Local<T> local;
    memcpy(static_cast<void *>(&local), &v, sizeof v);
    return local;
}

/* Array buffers: zeroed, counted, bounded. A buffer that moves to another isolate keeps its allocator, so
 * counts are changed from any thread. */
class js_buffers final : public v8::ArrayBuffer::Allocator
{
  public:
    explicit js_buffers(uint64_t limit) : limit_(limit)
    {
    }
    void *Allocate(size_t length) override;
    void *AllocateUninitialized(size_t length) override;
    void Free(void *data, size_t length) override;
    uint64_t used() const
    {
        return used_.load(std::memory_order_relaxed);
    }
    uint64_t limit() const
    {
        return limit_;
    }
    bool take(uint64_t length); /* False: it would pass the limit. */
    void give(uint64_t length);
    bool take_refused()
    {
        return refused_.load(std::memory_order_relaxed) &&
               refused_.exchange(false, std::memory_order_relaxed);
    }

  private:
    std::atomic<uint64_t> used_{0};
    std::atomic<bool> refused_{false}; /* Since somebody asked. */
    const uint64_t limit_;
};

/* V8's tasks of one isolate. Shared with V8, which may hold it a little longer than the isolate lives. */
class js_tasks final : public v8::TaskRunner
{
  public:
    /* While V8 disposes of an isolate on this thread: then it leaves the work of giving its pages back to any
     * other isolate, chosen by address, maybe of another thread. Such a task must not touch that isolate's
     * loop, nor make a run of the simulator depend on addresses: it waits until its isolate has another one
     * to run. */
    static thread_local bool tearing_down;

    explicit js_tasks(js_isolate *js) : js_(js)
    {
    }
    void close(); /* Drops what is queued and takes no more. */
    bool run_due(uint64_t now_ns);
    uint64_t next_ns() const;
    bool IdleTasksEnabled() override
    {
        return false;
    }
    bool NonNestableTasksEnabled() const override
    {
        return true;
    }
    bool NonNestableDelayedTasksEnabled() const override
    {
        return true;
    }

  protected:
    void PostTaskImpl(std::unique_ptr<v8::Task> task, const v8::SourceLocation &at) override;
    void PostNonNestableTaskImpl(std::unique_ptr<v8::Task> task, const v8::SourceLocation &at) override;
    void PostDelayedTaskImpl(std::unique_ptr<v8::Task> task, double delay_s,
                             const v8::SourceLocation &at) override;
    void PostNonNestableDelayedTaskImpl(std::unique_ptr<v8::Task> task, double delay_s,
                                        const v8::SourceLocation &at) override;

  private:
    struct entry {
        uint64_t due_ns, serial;
        std::unique_ptr<v8::Task> task;
    };
    void add(std::unique_ptr<v8::Task> task, double delay_s);

    std::mutex lock_; /* Of left_, which other threads fill. */
    std::vector<std::unique_ptr<v8::Task>> left_; /* See tearing_down. */
    std::atomic<bool> has_left_{false};
    js_isolate *js_;
    uint64_t serial_ = 0;
    std::vector<entry> queue_; /* Few: sorted by (due, serial), latest first. */
};

/* A host function made at run time. */
struct js_bound {
    js_host_fn *fn;
    void *user;
    js_isolate *js;
    v8::Global<v8::Value> function; /* Weak. */
    cd_link link;
};

/* A synthetic module's exports until it is evaluated. */
struct js_synthetic {
    v8::Global<v8::Module> module;
    v8::Global<v8::Array> values;
    std::vector<v8::Global<v8::String>> names;
};

struct js_isolate {
    v8::Isolate *v8;
    v8::Global<v8::Context> context;
    const js_op *ops;
    unsigned op_count;
    const char *const *names;
    unsigned name_count;
    const js_hooks *hooks;
    void *user;
    v8::StartupData blob;
    std::shared_ptr<js_buffers> buffers;
    std::shared_ptr<js_tasks> tasks;
    unsigned catchers; /* js_try and host functions that are open. */
    unsigned turns;
    std::atomic<bool> terminate_asked{false};
    js_heap_state heap_state;
    uint64_t heap_limit; /* As configured. */
    int64_t external; /* Of js_external_memory. */
    bool looking; /* js_memory_look is asked for, or runs. */
    size_t v8_limit; /* The part of it that V8 enforces for the old generation; known once it was reached. */
    std::vector<v8::Eternal<v8::String>> name_cache;
    std::vector<v8::Eternal<v8::Private>> private_cache;
    v8::Global<v8::Function> dom_exception;
    cd_map scripts; /* Script id of a module -> its name, owned (cd_free). */
    std::vector<js_synthetic> synthetic;
    cd_list weak; /* js_weak.link */
    cd_list bound; /* js_bound.link */
    cd_list imports; /* Dynamic imports that wait for their microtask. */
};

static constexpr uint32_t JS_SLOT = 0; /* Of v8::Isolate::SetData. */
enum { JS_CONTEXT_PRELUDE = 1 }; /* Of v8::Context::SetEmbedderData; 0 is used by debuggers. */

static inline js_isolate *js_from(v8::Isolate *isolate)
{
    return static_cast<js_isolate *>(isolate->GetData(JS_SLOT));
}

static inline v8::Local<v8::Context> js_context(js_isolate *js)
{
    return js->v8->GetCurrentContext();
}

/* For the calls that can throw: without a js_try around, the exception would be lost. */
static inline void js_fallible(const js_isolate *js)
{
    CD_ASSERT(js->catchers > 0);
}

template <class T> static inline int js_give(v8::MaybeLocal<T> maybe, js_value *out)
{
    v8::Local<T> local;
    if (!maybe.ToLocal(&local))
        return JS_THREW;
    *out = js_of(local);
    return 0;
}

template <class T> static inline int js_done(v8::Maybe<T> maybe)
{
    return maybe.IsNothing() ? JS_THREW : 0;
}

/* What the snapshot needs to know of our functions. */
void js_trampoline(const v8::FunctionCallbackInfo<v8::Value> &info);
extern const intptr_t js_external_references[];

/* The platform. */
bool js_platform_deterministic();
uint64_t js_platform_now_ns();

/* An isolate that is allocated but not yet initialised; both ways to make one use these. */
js_isolate *js_isolate_alloc(const js_op *ops, unsigned op_count, uint64_t external_limit);
void js_isolate_hooks(js_isolate *js); /* Installs our callbacks. */
void js_module_hooks(js_isolate *js);
void js_modules_clear(js_isolate *js);
void js_isolate_discard(js_isolate *js); /* What is left once V8's isolate is gone. */
v8::Local<v8::String> js_v8_text(js_isolate *js, const char *text);
/* Fails for texts over the limit, with RangeError. */
v8::MaybeLocal<v8::String> js_v8_string(js_isolate *js, struct cd_str utf8);
void js_v8_utf8(js_isolate *js, v8::Local<v8::String> s, cd_buf *out);
void js_problem_fill(js_isolate *js, v8::Local<v8::Value> exception, v8::Local<v8::Message> message,
                     js_problem *out);
int js_throw_dom_text(js_isolate *js, const char *name, v8::Local<v8::String> message);

/* The source of the prelude, which V8 asks for when it compiles a function for the first time. It stays where
 * the snapshot file is, one for all isolates of the process: a copy in each would be most of what a new
 * isolate has to touch. */
class js_prelude_source final : public v8::String::ExternalOneByteStringResource
{
  public:
    /* The same text each time, for good; from any thread. */
    void set(struct cd_str text)
    {
        len.store(text.len);
        bytes.store(text.ptr);
    }
    const char *data() const override
    {
        return bytes.load();
    }
    size_t length() const override
    {
        return len.load();
    }

    /* One: V8 finds it by its address, in every isolate of the process. Made with the platform; never
     * destroyed, since isolates of other threads may be there till the end. */
    static js_prelude_source *the();
    static void make();

  protected:
    void Dispose() override
    {
    } /* Each isolate that ends says so. */

  private:
    std::atomic<const char *> bytes = nullptr;
    std::atomic<size_t> len = 0;
};

/* Frames of a snapshot file: our header, then V8's blob, then the source of the prelude. */
struct js_blob_header {
    char magic[8];
    uint64_t ops; /* Hash of the names, in order. */
    uint64_t size, source; /* Of V8's blob, and of the source. */
    char version[96]; /* Of V8, NUL-padded. */
};
static_assert(sizeof(js_blob_header) == 128);
uint64_t js_ops_hash(const js_op *ops, unsigned count);

#endif
