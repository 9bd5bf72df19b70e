/* js/engine_platform.cc: V8's platform without threads: tasks wait in their isolate's queue until js_pump,
 * jobs run in the thread that joins them.
 *
 * V8 has one platform and one entropy source per process, so this is the one place with process-wide state:
 * it is written by js_platform_start before any isolate exists and only read after that. */
#include <algorithm>

#include "js/engine_internal.h"

#if defined(__SANITIZE_ADDRESS__)
/* V8 decides whether a TryCatch or a JavaScript handler is the inner one by comparing their addresses, which
 * works on the real stack only: the sanitizer must not move locals elsewhere. Its other checks stay on. */
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options()
{
    return "detect_stack_use_after_return=0";
}
#endif

/* libnode's own copy of absl, for which it has no header. Without NDEBUG, as Debian builds it, each lock of
 * V8 is entered into one graph of the process that looks for cycles: 1 MB and 10 ms at the first lock, and
 * every thread waits for that graph. Weak: another libnode may have none. */
namespace absl
{
enum class OnDeadlockCycle { kIgnore };
[[gnu::weak]] void SetMutexDeadlockDetectionMode(OnDeadlockCycle mode);
} /* namespace absl */

namespace
{

class job final : public v8::JobHandle, public v8::JobDelegate
{
  public:
    explicit job(std::unique_ptr<v8::JobTask> task) : task_(std::move(task))
    {
    }

    void Join() override
    {
        while (task_ != nullptr && task_->GetMaxConcurrency(0) > 0)
            task_->Run(this);
        task_.reset();
    }
    void Cancel() override
    {
        task_.reset();
    }
    void CancelAndDetach() override
    {
        task_.reset();
    }
    bool IsActive() override
    {
        return task_ != nullptr && task_->GetMaxConcurrency(0) > 0;
    }
    bool IsValid() override
    {
        return task_ != nullptr;
    }

    /* JobHandle and JobDelegate. Nothing runs before it is joined. */
    void NotifyConcurrencyIncrease() override
    {
    }
    bool ShouldYield() override
    {
        return false;
    }
    uint8_t GetTaskId() override
    {
        return 0;
    }
    bool IsJoiningThread() const override
    {
        return true;
    }

  private:
    std::unique_ptr<v8::JobTask> task_;
};

class platform final : public v8::Platform
{
  public:
    explicit platform(const js_platform_config &config) : config_(config)
    {
    }
    const js_platform_config &config() const
    {
        return config_;
    }

    int NumberOfWorkerThreads() override
    {
        return 0;
    }
    std::shared_ptr<v8::TaskRunner> GetForegroundTaskRunner(v8::Isolate *isolate, v8::TaskPriority) override
    {
        return js_from(isolate)->tasks;
    }
    double MonotonicallyIncreasingTime() override
    {
        return static_cast<double>(config_.now_ns()) / 1e9;
    }
    double CurrentClockTimeMillis() override
    {
        return static_cast<double>(config_.wall_ms());
    }
    int64_t CurrentClockTimeMilliseconds() override
    {
        return config_.wall_ms();
    }
    v8::TracingController *GetTracingController() override
    {
        return &tracing_;
    }

    void run_orphans();

  protected:
    std::unique_ptr<v8::JobHandle> CreateJobImpl(v8::TaskPriority, std::unique_ptr<v8::JobTask> task,
                                                 const v8::SourceLocation &) override
    {
        return std::make_unique<job>(std::move(task));
    }
    void PostTaskOnWorkerThreadImpl(v8::TaskPriority, std::unique_ptr<v8::Task> task,
                                    const v8::SourceLocation &) override;
    void PostDelayedTaskOnWorkerThreadImpl(v8::TaskPriority priority, std::unique_ptr<v8::Task> task, double,
                                           const v8::SourceLocation &at) override
    {
        PostTaskOnWorkerThreadImpl(priority, std::move(task), at);
    }

  private:
    const js_platform_config config_;
    v8::TracingController tracing_;
    std::mutex lock_;
    std::vector<std::unique_ptr<v8::Task>> orphans_;
    std::atomic<bool> has_orphans_{false};
};

/* With --single-threaded V8 gives a worker nothing to do; should it, the next js_pump of any isolate does it.
 */
void platform::PostTaskOnWorkerThreadImpl(v8::TaskPriority, std::unique_ptr<v8::Task> task,
                                          const v8::SourceLocation &)
{
    std::lock_guard<std::mutex> hold(lock_);
    orphans_.push_back(std::move(task));
    has_orphans_.store(true, std::memory_order_release);
}

void platform::run_orphans()
{
    while (has_orphans_.load(std::memory_order_acquire)) {
        std::vector<std::unique_ptr<v8::Task>> now;
        {
            std::lock_guard<std::mutex> hold(lock_);
            now.swap(orphans_);
            has_orphans_.store(false, std::memory_order_release);
        }
        for (auto &task : now)
            task->Run();
    }
}

platform *the_platform;

bool entropy(unsigned char *out, size_t len)
{
    the_platform->config().random(out, len);
    return true;
}

} /* namespace */

void js_platform_start(const js_platform_config *config)
{
    CD_ASSERT(the_platform == nullptr);
    if (absl::SetMutexDeadlockDetectionMode != nullptr)
        absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    js_prelude_source::make();
    CD_ASSERT(config->now_ns != nullptr && config->wall_ms != nullptr && config->random != nullptr);
    the_platform = new platform(*config);
    /* The flags are part of what a snapshot and a code cache are checked against, so all programs set the
     * same. rehash-snapshot: without it every process would have the hash seed that the snapshot was built
     * with. */
    v8::V8::SetFlagsFromString("--single-threaded --rehash-snapshot --no-freeze-flags-after-init");
    /* A table takes 32 bytes an element at once, and V8 ends the process where its own bound, 10 million,
     * passes the reserve of a heap. */
    v8::V8::SetFlagsFromString("--wasm-max-table-size=1000000");
    /* 512 MiB: what one step can take before js_memory_look sees it. */
    v8::V8::SetFlagsFromString("--wasm-max-mem-pages=8192");
    if (config->deterministic)
        v8::V8::SetFlagsFromString("--hash-seed=1 --predictable-gc-schedule");
    v8::V8::SetEntropySource(entropy);
    v8::V8::InitializePlatform(the_platform);
    v8::V8::Initialize();
}

void js_platform_stop(void)
{
    CD_ASSERT(the_platform != nullptr);
    v8::V8::Dispose();
    v8::V8::DisposePlatform();
    delete the_platform;
    the_platform = nullptr;
}

const char *js_engine_version(void)
{
    return v8::V8::GetVersion();
}

bool js_platform_running()
{
    return the_platform != nullptr;
}

bool js_platform_deterministic()
{
    return the_platform->config().deterministic;
}

uint64_t js_platform_now_ns()
{
    return the_platform->config().now_ns();
}

/* ---- Tasks of one isolate */

thread_local bool js_tasks::tearing_down;

void js_tasks::add(std::unique_ptr<v8::Task> task, double delay_s)
{
    if (tearing_down) {
        std::lock_guard<std::mutex> hold(lock_);
        left_.push_back(std::move(task));
        has_left_.store(true, std::memory_order_release);
        return;
    }
    if (js_ == nullptr)
        return;
    uint64_t due = js_platform_now_ns();
    if (delay_s > 0)
        due += static_cast<uint64_t>(delay_s * 1e9);
    entry e{due, serial_++, std::move(task)};
    auto later = [](const entry &a, const entry &b) {
        return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.serial > b.serial;
    };
    queue_.insert(std::upper_bound(queue_.begin(), queue_.end(), e, later), std::move(e));
    if (js_->hooks != nullptr && js_->hooks->task != nullptr)
        js_->hooks->task(js_, due);
}

void js_tasks::PostTaskImpl(std::unique_ptr<v8::Task> task, const v8::SourceLocation &)
{
    add(std::move(task), 0);
}

void js_tasks::PostNonNestableTaskImpl(std::unique_ptr<v8::Task> task, const v8::SourceLocation &)
{
    add(std::move(task), 0);
}

void js_tasks::PostDelayedTaskImpl(std::unique_ptr<v8::Task> task, double delay_s, const v8::SourceLocation &)
{
    add(std::move(task), delay_s);
}

void js_tasks::PostNonNestableDelayedTaskImpl(std::unique_ptr<v8::Task> task, double delay_s,
                                              const v8::SourceLocation &)
{
    add(std::move(task), delay_s);
}

void js_tasks::close()
{
    js_ = nullptr;
    queue_.clear();
    std::lock_guard<std::mutex> hold(lock_);
    left_.clear();
}

uint64_t js_tasks::next_ns() const
{
    return queue_.empty() ? UINT64_MAX : queue_.back().due_ns;
}

bool js_tasks::run_due(uint64_t now_ns)
{
    the_platform->run_orphans();
    if (has_left_.load(std::memory_order_acquire)) {
        std::vector<std::unique_ptr<v8::Task>> left;
        {
            std::lock_guard<std::mutex> hold(lock_);
            left.swap(left_);
            has_left_.store(false, std::memory_order_release);
        }
        for (auto &task : left)
            task->Run();
    }
    /* What a task queues waits for the next call: a task that queues itself must not hold the loop. */
    uint64_t end = serial_;
    bool any = false;
    while (!queue_.empty() && queue_.back().due_ns <= now_ns && queue_.back().serial < end) {
        std::unique_ptr<v8::Task> task = std::move(queue_.back().task);
        queue_.pop_back();
        v8::HandleScope scope(js_->v8);
        task->Run();
        any = true;
    }
    return any;
}
