/* js/ops_core.h: host functions: frames, timers, console, values. */
#ifndef JS_OPS_CORE_H
#define JS_OPS_CORE_H

#define JS_OPS_CORE(X)                                                                                       \
    X(timer_start)                                                                                           \
    X(timer_stop)                                                                                            \
    X(console)                                                                                               \
    X(event_end)                                                                                             \
    X(event_still)                                                                                           \
    X(run_failed)                                                                                            \
    X(report)                                                                                                \
    X(random_fill)                                                                                           \
    X(now)                                                                                                   \
    X(promise_state)                                                                                         \
    X(class_name)                                                                                            \
    X(entries)                                                                                               \
    X(type_of)                                                                                               \
    X(clone)                                                                                                 \
    X(platform_mark)                                                                                         \
    X(buffer_detach)                                                                                         \
    X(wasm_shares)                                                                                           \
    X(gc)

#endif
