/* The intrusive list: order of insertion, removal anywhere, no link in two lists. */
#include "base/list.h"
#include "support/death.h"
#include "support/test.h"

struct item {
    int value;
    struct cd_link link;
};

static void check_is(const struct cd_list *l, const char *want)
{
    struct cd_buf got = {0};
    for (struct cd_link *k = cd_list_first(l); k != NULL; k = cd_list_next(l, k))
        cd_buf_addf(&got, "%d", CD_CONTAINER(k, struct item, link)->value);
    assert_str_is(cd_buf_str(&got), want);
    assert_int_equal(cd_list_empty(l), got.len == 0);
    cd_buf_deinit(&got);
}

static void test_order_is_that_of_insertion(void **state)
{
    struct item it[5] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}, {.value = 4}};
    struct cd_list l;
    (void)state;
    cd_list_init(&l);
    check_is(&l, "");
    assert_null(cd_list_pop(&l));
    cd_list_push(&l, &it[1].link);
    cd_list_push(&l, &it[2].link);
    cd_list_push_front(&l, &it[0].link);
    cd_list_insert_before(&it[2].link, &it[4].link);
    check_is(&l, "0142");
    cd_link_remove(&it[1].link);
    assert_false(cd_link_linked(&it[1].link));
    cd_link_remove(&it[1].link); /* No effect. */
    cd_link_remove(&it[3].link); /* Nor on one that never was in a list. */
    check_is(&l, "042");
    assert_ptr_equal(cd_list_pop(&l), &it[0].link);
    assert_false(cd_link_linked(&it[0].link));
    cd_list_push(&l, &it[0].link);
    check_is(&l, "420");
    cd_link_remove(&it[0].link);
    cd_link_remove(&it[4].link);
    check_is(&l, "2");
    assert_ptr_equal(cd_list_pop(&l), &it[2].link);
    check_is(&l, "");
}

static void push_twice(void)
{
    struct item it = {0};
    struct cd_list a, b;
    cd_list_init(&a);
    cd_list_init(&b);
    cd_list_push(&a, &it.link);
    cd_list_push(&b, &it.link);
}

static void test_a_link_in_two_lists_is_caught(void **state)
{
    (void)state;
    assert_dies(push_twice, "!cd_link_linked(k)");
}

CD_TESTS(list, cmocka_unit_test(test_order_is_that_of_insertion),
         cmocka_unit_test(test_a_link_in_two_lists_is_caught))
