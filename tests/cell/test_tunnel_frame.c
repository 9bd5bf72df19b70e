#include "cell/tunnel_frame.h"

#include "support/test.h"

static void test_frames_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct cd_buf b = {0};
    struct cell_frame f;
    struct cell_frame_open open = {.hops = 1,
                                   .deadline_ms = 14999,
                                   .epoch = 1ull << 50,
                                   .scope = CD_STR("Chat:1"),
                                   .script = CD_STR("main"),
                                   .name = CD_STR("\0room")};
    struct cell_close why = {
        .text = CD_STR("gone"), .overloaded = true, .reset = true, .refusal = CELL_REFUSED_DRAINING};
    const char *bad = NULL;
    cell_frame_add_open(&b, 7, &open);
    cell_frame_add(&b, CELL_FRAME_DATA, 8, CD_STR("hello"));
    cell_frame_add_close(&b, CELL_FRAME_REFUSED, 9, &why);
    cell_frame_add_credit(&b, 10, 70000);
    struct cd_str in = cd_buf_str(&b);
    int n = cell_frame_take(in, &f, &bad);
    assert_true(n > 0 && f.type == CELL_FRAME_OPEN && f.wire == 7);
    assert_null(cell_frame_check(&f, true));
    assert_non_null(cell_frame_check(&f, false));
    memset(&open, 0, sizeof open);
    assert_true(cell_frame_open_read(f.payload, &open));
    assert_int_equal(open.hops, 1);
    assert_int_equal(open.deadline_ms, 14999);
    assert_true(open.epoch == 1ull << 50);
    assert_str_is(open.scope, "Chat:1");
    assert_str_is(open.script, "main");
    assert_int_equal(open.name.len, 5);
    in = cd_str_sub(in, (size_t)n, SIZE_MAX);
    n = cell_frame_take(in, &f, &bad);
    assert_true(n > 0 && f.type == CELL_FRAME_DATA && f.wire == 8);
    assert_str_is(f.payload, "hello");
    in = cd_str_sub(in, (size_t)n, SIZE_MAX);
    n = cell_frame_take(in, &f, &bad);
    assert_true(n > 0 && f.type == CELL_FRAME_REFUSED && f.wire == 9);
    assert_null(cell_frame_check(&f, false));
    assert_non_null(cell_frame_check(&f, true));
    memset(&why, 0, sizeof why);
    assert_true(cell_frame_close_read(f.payload, &why));
    assert_str_is(why.text, "gone");
    assert_true(why.overloaded && !why.retryable && why.reset && why.refusal == CELL_REFUSED_DRAINING);
    in = cd_str_sub(in, (size_t)n, SIZE_MAX);
    n = cell_frame_take(in, &f, &bad);
    assert_true(n > 0 && (size_t)n == in.len && f.type == CELL_FRAME_CREDIT);
    assert_int_equal(cd_get_u32(f.payload.ptr), 70000);
    for (size_t cut = 0; cut < in.len; cut++)
        assert_int_equal(cell_frame_take(cd_str_sub(in, 0, cut), &f, &bad), 0);
    assert_null(bad);
    cd_buf_deinit(&b);
}

static void test_what_is_no_frame_is_told(void **state)
{
    (void)state;
    struct cell_frame f;
    const char *why = NULL;
    assert_int_equal(cell_frame_take(CD_STR("\1\0\1\0\5\0\0\0\0\0\0\0\0"), &f, &why), CD_EINVAL);
    assert_string_equal(why, "a frame that is too long");
    assert_int_equal(cell_frame_take(CD_STR("\0\0\0\0\13\0\0\0\0\0\0\0\0"), &f, &why), CD_EINVAL);
    assert_string_equal(why, "a frame of an unknown type");
    f = (struct cell_frame){.type = CELL_FRAME_LOST};
    assert_non_null(cell_frame_check(&f, true)); /* Only our own loops say that. */
    f = (struct cell_frame){.type = CELL_FRAME_OPEN,
                            .payload = CD_STR("\1\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0..")};
    assert_non_null(cell_frame_check(&f, true)); /* ".." is no scope. */
    f = (struct cell_frame){.type = CELL_FRAME_REFUSED, .payload = CD_STR("\0\0")};
    assert_non_null(cell_frame_check(&f, false)); /* Refused, and no reason. */
    f = (struct cell_frame){.type = CELL_FRAME_PING, .wire = 1};
    assert_non_null(cell_frame_check(&f, true));
    f = (struct cell_frame){.type = CELL_FRAME_END};
    assert_non_null(cell_frame_check(&f, true)); /* Who calls has no calls of the other to refuse. */
    assert_null(cell_frame_check(&f, false));
}

CD_TESTS(tunnel_frame, cmocka_unit_test(test_frames_come_out_as_they_went_in),
         cmocka_unit_test(test_what_is_no_frame_is_told))
