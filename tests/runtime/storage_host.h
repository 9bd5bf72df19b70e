/* runtime/storage_host.h: storages of cells without cells, for tests of the JavaScript runtime.
 *
 * globalThis.testStorage() gives { open, turn, reopen, commits, alarmBegin, alarmEnd, refuse, busy, gc, cpu,
 * spoil } of a new SQLite database in memory: open(cell) is its DurableObjectStorage, reopen(cell) the next
 * one, as after a reset; turn() ends a turn, as the host of a cell would, and returns what went wrong, or
 * undefined.
 */
#ifndef RUNTIME_STORAGE_HOST_H
#define RUNTIME_STORAGE_HOST_H

struct js_worker;
struct storage_host;

struct storage_host *storage_host_new(struct js_worker *w);
void storage_host_free(struct storage_host *t); /* After the worker was closed. NULL is fine. */

#endif
