/* tests/io_real/tls_help.c: see tls_help.h. */
#include "tls_help.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

static FILE *file_new(char *path, size_t cap)
{
    (void)snprintf(path, cap, "/tmp/celld-test-pem-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    FILE *f = fdopen(fd, "w");
    CHECK(f != NULL);
    return f;
}

void tls_cert_make(struct tls_cert *t)
{
    t->key = EVP_EC_gen("P-256");
    t->cert = X509_new();
    CHECK(t->key != NULL && t->cert != NULL);
    CHECK(X509_set_version(t->cert, 2) == 1);
    CHECK(ASN1_INTEGER_set(X509_get_serialNumber(t->cert), 1) == 1);
    CHECK(X509_gmtime_adj(X509_getm_notBefore(t->cert), -3600) != NULL);
    CHECK(X509_gmtime_adj(X509_getm_notAfter(t->cert), 3600) != NULL);
    CHECK(X509_set_pubkey(t->cert, t->key) == 1);
    X509_NAME *name = X509_NAME_new();
    CHECK(name != NULL);
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0) ==
          1);
    CHECK(X509_set_subject_name(t->cert, name) == 1 && X509_set_issuer_name(t->cert, name) == 1);
    X509_NAME_free(name);
    X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    CHECK(san != NULL && X509_add_ext(t->cert, san, -1) == 1);
    X509_EXTENSION_free(san);
    CHECK(X509_sign(t->cert, t->key, EVP_sha256()) > 0);
    FILE *f = file_new(t->cert_file, sizeof t->cert_file);
    CHECK(PEM_write_X509(f, t->cert) == 1 && fclose(f) == 0);
    f = file_new(t->key_file, sizeof t->key_file);
    CHECK(PEM_write_PrivateKey(f, t->key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0);
}

void tls_cert_free(struct tls_cert *t)
{
    CHECK(unlink(t->key_file) == 0 && unlink(t->cert_file) == 0);
    X509_free(t->cert);
    EVP_PKEY_free(t->key);
}

void tls_trust(const struct tls_cert *t)
{
    CHECK((t == NULL ? unsetenv("SSL_CERT_FILE") : setenv("SSL_CERT_FILE", t->cert_file, 1)) == 0);
}
