/* tests/io_real/tls_help.h: a certificate for 127.0.0.1 that vouches for itself, good for an hour. */
#ifndef TLS_HELP_H
#define TLS_HELP_H

#include <openssl/ssl.h>

struct tls_cert {
    EVP_PKEY *key;
    X509 *cert;
    char key_file[64], cert_file[64]; /* PEM; the latter is also who vouches. */
};

void tls_cert_make(struct tls_cert *t);
void tls_trust(
    const struct tls_cert *t); /* Of nodes made from now on, by SSL_CERT_FILE; NULL: the system's. */
void tls_cert_free(struct tls_cert *t); /* Its files go too. */

#endif
