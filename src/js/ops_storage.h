/* js/ops_storage.h: host functions: storage of cells. Their first argument is the number of a storage. */
#ifndef JS_OPS_STORAGE_H
#define JS_OPS_STORAGE_H

#define JS_OPS_STORAGE(X)                                                                                    \
    X(storage_get)                                                                                           \
    X(storage_get_all)                                                                                       \
    X(storage_put)                                                                                           \
    X(storage_put_all)                                                                                       \
    X(storage_delete)                                                                                        \
    X(storage_list)                                                                                          \
    X(storage_clear)                                                                                         \
    X(storage_begin)                                                                                         \
    X(storage_end)                                                                                           \
    X(storage_commit)                                                                                        \
    X(storage_depth)                                                                                         \
    X(storage_alarm)                                                                                         \
    X(storage_alarm_set)                                                                                     \
    X(storage_alarm_delete)                                                                                  \
    X(sql_exec)                                                                                              \
    X(sql_next)                                                                                              \
    X(sql_all)                                                                                               \
    X(sql_close)                                                                                             \
    X(sql_size)

#endif
