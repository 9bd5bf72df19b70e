/* OpenSSL draws from the run. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "rig.h"

struct draws {
    unsigned char inside[16], outside[16], key[32];
    size_t key_len;
};

static void draw_inside(struct io *io, void *arg)
{
    struct draws *d = arg;
    (void)io;
    CHECK_INT(RAND_bytes(d->inside, sizeof d->inside), 1);
    EVP_PKEY *key =
        EVP_PKEY_Q_keygen(NULL, NULL, "X25519"); /* Whatever needs random bytes inside of the library. */
    CHECK(key != NULL);
    d->key_len = sizeof d->key;
    CHECK_INT(EVP_PKEY_get_raw_private_key(key, d->key, &d->key_len), 1);
    EVP_PKEY_free(key);
}

static struct draws draw(uint64_t seed)
{
    struct draws d;
    memset(&d, 0, sizeof d);
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
    sim_entropy_install(sim);
    struct sim_node *n = rig_node(sim, "n1");
    assert_int_equal(RAND_bytes(d.outside, sizeof d.outside), 1);
    sim_in_loop(n, 0, draw_inside, &d);
    sim_run_for(sim, 1);
    sim_free(sim);
    return d;
}

static void test_openssl_repeats_with_the_seed(void **state)
{
    (void)state;
    struct draws a = draw(1), b = draw(1), c = draw(2);
    assert_int_equal(a.key_len, 32);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(a.inside, c.inside, sizeof a.inside);
    assert_memory_not_equal(a.outside, c.outside, sizeof a.outside);
    assert_memory_not_equal(a.key, c.key, sizeof a.key);
    assert_memory_not_equal(a.inside, a.outside, sizeof a.inside);
    unsigned char none[4];
    assert_int_not_equal(RAND_bytes(none, sizeof none), 1); /* No run, no bytes. */
    RAND_set_rand_method(NULL);
}

CD_TESTS(entropy, cmocka_unit_test(test_openssl_repeats_with_the_seed))
