/* io_real/tls.c: TLS 1.2 and 1.3 through OpenSSL's memory BIOs. */
#include "io_real/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/ip.h"

struct real_tls_trust {
    SSL_CTX *ctx;
};

struct real_tls {
    SSL *ssl;
    BIO *in, *from; /* Of ssl: what came; what it has to say. */
    struct cd_buf out;
    bool ended;
};

struct real_tls_trust *real_tls_trust_new(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx == NULL)
        return NULL;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION); /* The library's own bound may be higher. */
    (void)SSL_CTX_set_default_verify_paths(
        ctx); /* Without any nobody is trusted, and the handshake says so. */
    struct real_tls_trust *t = cd_new(struct real_tls_trust);
    t->ctx = ctx;
    return t;
}

void real_tls_trust_free(struct real_tls_trust *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->ctx);
    cd_free(t);
}

static bool name_set(SSL *ssl, const char *name)
{
    struct cd_ip ip;
    if (cd_ip_parse(cd_str(name), &ip) == 0)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct real_tls *real_tls_new(struct real_tls_trust *trust, const char *name)
{
    SSL *ssl = SSL_new(trust->ctx);
    if (ssl == NULL)
        return NULL;
    BIO *in = BIO_new(BIO_s_mem()), *from = BIO_new(BIO_s_mem());
    if (in == NULL || from == NULL || !name_set(ssl, name)) {
        BIO_free(in);
        BIO_free(from);
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1); /* Empty is "not yet". */
    SSL_set_bio(ssl, in, from);
    SSL_set_connect_state(ssl);
    struct real_tls *t = cd_new(struct real_tls);
    t->ssl = ssl;
    t->in = in;
    t->from = from;
    return t;
}

void real_tls_free(struct real_tls *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl); /* With its BIOs. */
    cd_buf_deinit(&t->out);
    cd_free(t);
}

struct cd_buf *real_tls_out(struct real_tls *t)
{
    return &t->out;
}

void real_tls_in(struct real_tls *t, struct cd_str bytes)
{
    int n = BIO_write(t->in, bytes.ptr, (int)bytes.len);
    CD_ASSERT(n == (int)bytes.len); /* It grows. */
}

static void out_take(struct real_tls *t)
{
    char *bytes;
    long n = BIO_get_mem_data(t->from, &bytes);
    if (n > 0)
        cd_buf_add(&t->out, bytes, (size_t)n);
    (void)BIO_reset(t->from);
}

/* What the last call on ssl, which returned n, has to wait for. */
static int status_of(struct real_tls *t, int n)
{
    int rc;
    switch (SSL_get_error(t->ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: rc = IO_BUSY; break;
    case SSL_ERROR_ZERO_RETURN: rc = IO_EOF; break;
    default: rc = IO_PROTOCOL;
    }
    out_take(t);
    return rc;
}

int real_tls_handshake(struct real_tls *t, char *why, size_t why_size)
{
    ERR_clear_error();
    int n = SSL_do_handshake(t->ssl);
    if (n == 1) {
        out_take(t);
        return IO_OK;
    }
    int rc = status_of(t, n);
    if (rc == IO_BUSY)
        return rc;
    long verdict = SSL_get_verify_result(t->ssl);
    const char *reason = verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
                                              : ERR_reason_error_string(ERR_peek_last_error());
    (void)snprintf(why, why_size, "%s: %s", verdict != X509_V_OK ? "TLS certificate" : "TLS handshake",
                   reason != NULL ? reason : "failed");
    ERR_clear_error();
    return IO_PROTOCOL;
}

int real_tls_read(struct real_tls *t, void *buf, size_t cap, size_t *got)
{
    ERR_clear_error();
    int n = SSL_read_ex(t->ssl, buf, cap, got);
    if (n == 1) {
        out_take(t); /* An answer to what the peer asked of the connection. */
        return IO_OK;
    }
    int rc = status_of(t, n);
    ERR_clear_error();
    return rc;
}

int real_tls_write(struct real_tls *t, struct cd_str bytes)
{
    size_t sent;
    if (bytes.len == 0)
        return IO_OK;
    ERR_clear_error();
    /* Memory takes all of it. */
    bool done = SSL_write_ex(t->ssl, bytes.ptr, bytes.len, &sent) == 1 && sent == bytes.len;
    out_take(t);
    ERR_clear_error();
    return done ? IO_OK : IO_PROTOCOL;
}

void real_tls_end(struct real_tls *t)
{
    if (t->ended)
        return;
    t->ended = true;
    ERR_clear_error();
    (void)SSL_shutdown(t->ssl); /* A peer that never agreed on anything is told nothing. */
    out_take(t);
    ERR_clear_error();
}
