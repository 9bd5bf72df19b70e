/* Randomness of a loop. */
#include "support.h"

static void flow_fills(struct contract *c)
{
    for (unsigned use = 0; use < IO_RAND_COUNT; use++) {
        for (size_t len = 0; len < 700; len += 1 + len / 7) {
            /* A byte that 40 draws all leave as it was is not written. */
            uint8_t out[704], seen[704] = {0};
            for (int draw = 0; draw < 40; draw++) {
                memset(out, 0xa5, sizeof out);
                io_random(c->io, (enum io_rand)use, out, len);
                CHECK(out[len] == 0xa5 && out[len + 1] == 0xa5);
                for (size_t i = 0; i < len; i++)
                    seen[i] |= out[i] != 0xa5;
            }
            for (size_t i = 0; i < len; i++)
                CHECK(seen[i] == 1);
        }
    }
}

static void test_every_byte_asked_for_is_written_and_no_other(void **state)
{
    (void)state;
    contract_run(flow_fills);
}

#define DRAWS 256

static void flow_differs(struct contract *c)
{
    uint64_t all[IO_RAND_COUNT * DRAWS];
    size_t count = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (unsigned use = 0; use < IO_RAND_COUNT; use++) {
            io_random(c->io, (enum io_rand)use, &all[count], sizeof all[count]);
            for (size_t i = 0; i < count; i++)
                CHECK(all[i] != all[count]);
            count++;
        }
    }
}

static void test_no_two_draws_of_64_bits_are_equal(void **state)
{
    (void)state;
    contract_run(flow_differs);
}

static void flow_below(struct contract *c)
{
    unsigned hits[10] = {0};
    for (int i = 0; i < 2000; i++) {
        uint64_t x = io_random_below(c->io, IO_RAND_JITTER, 10);
        CHECK(x < 10);
        hits[x]++;
    }
    /* 200 each on average; the odds of one below 100 are under 1e-15. */
    for (int i = 0; i < 10; i++)
        CHECK(hits[i] > 100);
    CHECK(io_random_below(c->io, IO_RAND_ID, 1) == 0);
}

static void test_numbers_below_a_bound_are_below_it_and_even(void **state)
{
    (void)state;
    contract_run(flow_below);
}

#define SAME 64

struct drawn {
    uint64_t of[IO_RAND_COUNT][SAME];
};

static struct drawn rows, turns;

/* Use after use. */
static void flow_rows(struct contract *c)
{
    for (unsigned use = 0; use < IO_RAND_COUNT; use++) {
        for (size_t i = 0; i < SAME; i++)
            io_random(c->io, (enum io_rand)use, &rows.of[use][i], sizeof rows.of[use][i]);
    }
}

/* The uses take turns, from the last to the first. */
static void flow_turns(struct contract *c)
{
    for (size_t i = 0; i < SAME; i++) {
        for (unsigned use = IO_RAND_COUNT; use-- > 0;)
            io_random(c->io, (enum io_rand)use, &turns.of[use][i], sizeof turns.of[use][i]);
    }
}

static void test_a_draw_of_one_use_shifts_no_other(void **state)
{
    (void)state;
    if (!contract_random_repeats())
        skip();
    contract_run(flow_rows);
    contract_run(flow_turns);
    CHECK(memcmp(&rows, &turns, sizeof rows) == 0);
}

CD_TESTS(contract_random, cmocka_unit_test(test_every_byte_asked_for_is_written_and_no_other),
         cmocka_unit_test(test_no_two_draws_of_64_bits_are_equal),
         cmocka_unit_test(test_numbers_below_a_bound_are_below_it_and_even),
         cmocka_unit_test(test_a_draw_of_one_use_shifts_no_other))
