/* fuzz/fuzz_log_slot.c: slot objects, as a recoverer and a leader read them. The first bytes say which
 * session and slot the key names: those of the object itself, else almost nothing would pass the first check.
 */
#include "fuzz/fuzz.h"

#include "log/slot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_str bytes = cd_str_of(data, size);
    struct cd_buf why = {0};
    struct log_slot_head head;
    struct log_slot s;
    if (log_slot_head_read(&head, bytes, &why) == 0) {
        struct cd_str session = cd_str_sub(bytes, LOG_SLOT_HEAD_SIZE, cd_get_u16(bytes.ptr + 66));
        if (log_slot_open(&s, bytes, session, head.slot, &why) == 0) {
            CD_ASSERT(s.head.kind == LOG_SLOT_SEAL ? log_slot_batches(&s) == 0 : log_slot_batches(&s) > 0);
            for (size_t i = 0; i < log_slot_batches(&s); i++) {
                struct log_batch b;
                size_t before = why.len;
                CD_ASSERT(log_slot_batch_open(&s, i, &b, &why) == 0 || why.len > before);
            }
            log_slot_deinit(&s);
        } else {
            CD_ASSERT(why.len > 0); /* A refusal says why. */
        }
    } else {
        CD_ASSERT(why.len > 0);
    }
    cd_buf_deinit(&why);
    return 0;
}
