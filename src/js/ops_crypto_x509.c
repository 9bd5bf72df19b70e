/* js/ops_crypto_x509.c: certificates, for node:crypto. */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "js/ops_crypto_internal.h"

struct certificate {
    struct js_crypto_object object;
    X509 *x; /* owned */
};

static void certificate_free(struct js_crypto_object *o)
{
    struct certificate *c = CD_CONTAINER(o, struct certificate, object);
    X509_free(c->x);
    cd_free(c);
}

static const struct js_crypto_type certificate_type = {"a certificate", certificate_free};

static int certificate_arg(struct js_args *a, unsigned index, X509 **out)
{
    struct js_crypto_object *o;
    int rc = js_crypto_object(a, index, &certificate_type, &o);
    if (rc == 0)
        *out = CD_CONTAINER(o, struct certificate, object)->x;
    return rc;
}

/* A certificate that asks for no passphrase. */
static int no_passphrase(char *out, int size, int writing, void *arg)
{
    (void)out, (void)size, (void)writing, (void)arg;
    return -1;
}

/* crypto_x509_new(bytes): DER or PEM; undefined when they are no certificate. */
int js_op_crypto_x509_new(struct js_args *a)
{
    struct js_crypto_in in;
    int rc = js_crypto_in(a, 0, &in);
    if (rc != 0 || in.v.len > INT32_MAX)
        return rc;
    ERR_clear_error();
    const unsigned char *at = js_crypto_u8(&in);
    X509 *x = d2i_X509(NULL, &at, (long)in.v.len);
    if (x == NULL) {
        BIO *bio = BIO_new_mem_buf(js_crypto_u8(&in), (int)in.v.len);
        x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
        BIO_free(bio);
    }
    if (x == NULL)
        return 0;
    ERR_clear_error();
    struct certificate *c = cd_new(struct certificate);
    c->x = x;
    js_return(a, js_crypto_wrap(a->js, &c->object, &certificate_type));
    return 0;
}

/* crypto_x509_key(certificate): its public key. */
int js_op_crypto_x509_key(struct js_args *a)
{
    X509 *x;
    int rc = certificate_arg(a, 0, &x);
    if (rc == 0)
        js_crypto_return_key(a, X509_get_pubkey(x));
    return rc;
}

/* ---- Text ---- */

static js_value bio_value(struct js_args *a, BIO *bio, bool there)
{
    char *text;
    long len = BIO_get_mem_data(bio, &text);
    js_value v = js_undefined(a->js);
    if (there && js_string(a->js, cd_str_of(text, (size_t)len), &v) != 0)
        v = js_undefined(a->js); /* Longer than strings can be: no certificate is. */
    BIO_free(bio);
    return v;
}

/* One line for each part of the name, "CN=agent1". */
static js_value name_value(struct js_args *a, const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());
    const unsigned long flags = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT |
                                XN_FLAG_SEP_MULTILINE | XN_FLAG_FN_SN;
    int ok = X509_NAME_print_ex(bio, name, 0, flags);
    return bio_value(a, bio, ok >= 0);
}

static js_value time_value(struct js_args *a, const ASN1_TIME *time)
{
    BIO *bio = BIO_new(BIO_s_mem());
    int ok = ASN1_TIME_print(bio, time);
    return bio_value(a, bio, ok == 1);
}

static void add_general_name(BIO *bio, const GENERAL_NAME *name)
{
    switch (name->type) {
    case GEN_DNS:
        BIO_printf(bio, "DNS:%.*s", ASN1_STRING_length(name->d.dNSName),
                   (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        break;
    case GEN_EMAIL:
        BIO_printf(bio, "email:%.*s", ASN1_STRING_length(name->d.rfc822Name),
                   (const char *)ASN1_STRING_get0_data(name->d.rfc822Name));
        break;
    case GEN_URI:
        BIO_printf(bio, "URI:%.*s", ASN1_STRING_length(name->d.uniformResourceIdentifier),
                   (const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier));
        break;
    default: GENERAL_NAME_print(bio, (GENERAL_NAME *)(uintptr_t)name); break;
    }
}

static js_value alt_names_value(struct js_args *a, const X509 *x)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    if (names == NULL)
        return js_undefined(a->js);
    BIO *bio = BIO_new(BIO_s_mem());
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        if (i > 0)
            BIO_puts(bio, ", ");
        add_general_name(bio, sk_GENERAL_NAME_value(names, i));
    }
    GENERAL_NAMES_free(names);
    return bio_value(a, bio, true);
}

/* One line for each: "OCSP - URI:http://example.com/". */
static js_value info_access_value(struct js_args *a, const X509 *x)
{
    AUTHORITY_INFO_ACCESS *list = X509_get_ext_d2i(x, NID_info_access, NULL, NULL);
    if (list == NULL)
        return js_undefined(a->js);
    BIO *bio = BIO_new(BIO_s_mem());
    for (int i = 0; i < sk_ACCESS_DESCRIPTION_num(list); i++) {
        const ACCESS_DESCRIPTION *d = sk_ACCESS_DESCRIPTION_value(list, i);
        char method[80];
        OBJ_obj2txt(method, sizeof(method), d->method, 0);
        BIO_printf(bio, "%s - ", method);
        add_general_name(bio, d->location);
        BIO_puts(bio, "\n");
    }
    AUTHORITY_INFO_ACCESS_free(list);
    return bio_value(a, bio, true);
}

static js_value key_usage_value(struct js_args *a, const X509 *x)
{
    EXTENDED_KEY_USAGE *usage = X509_get_ext_d2i(x, NID_ext_key_usage, NULL, NULL);
    if (usage == NULL)
        return js_undefined(a->js);
    js_value list = js_array(a->js, NULL, 0);
    int rc = 0;
    for (int i = 0; rc == 0 && i < sk_ASN1_OBJECT_num(usage); i++) {
        char text[80];
        OBJ_obj2txt(text, sizeof(text), sk_ASN1_OBJECT_value(usage, i), 1);
        rc = js_set_index(a->js, list, (unsigned)i, js_text(a->js, text));
    }
    EXTENDED_KEY_USAGE_free(usage);
    return list;
}

static js_value serial_value(struct js_args *a, const X509 *x)
{
    BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
    char *hex = BN_bn2hex(n);
    js_value v = js_text(a->js, hex != NULL ? hex : "");
    OPENSSL_free(hex);
    BN_free(n);
    return v;
}

static js_value pem_value(struct js_args *a, X509 *x)
{
    BIO *bio = BIO_new(BIO_s_mem());
    int ok = PEM_write_bio_X509(bio, x);
    return bio_value(a, bio, ok == 1);
}

static js_value der_value(struct js_args *a, X509 *x)
{
    unsigned char *der = NULL;
    int len = i2d_X509(x, &der);
    js_value v = js_undefined(a->js);
    if (len > 0 && js_buffer_copy(a->js, cd_str_of((char *)der, (size_t)len), &v) != 0)
        v = js_undefined(a->js);
    OPENSSL_free(der);
    return v;
}

/* crypto_x509_info(certificate): [subject, alternative names, information access, issuer, valid from, valid
 * to, serial number, extended key usage, certificate authority, PEM, DER]. */
int js_op_crypto_x509_info(struct js_args *a)
{
    X509 *x;
    int rc = certificate_arg(a, 0, &x);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    const js_value info[] = {name_value(a, X509_get_subject_name(x)),
                             alt_names_value(a, x),
                             info_access_value(a, x),
                             name_value(a, X509_get_issuer_name(x)),
                             time_value(a, X509_get0_notBefore(x)),
                             time_value(a, X509_get0_notAfter(x)),
                             serial_value(a, x),
                             key_usage_value(a, x),
                             js_bool(a->js, X509_check_ca(x) == 1),
                             pem_value(a, x),
                             der_value(a, x)};
    js_return(a, js_array(a->js, info, CD_COUNT(info)));
    return 0;
}

/* ---- Checks ---- */

/* crypto_x509_check(certificate, what, text, flags): what: "host" (the name that matched), "email", "ip"
 * (true); undefined: it does not match; null: the text is malformed. */
int js_op_crypto_x509_check(struct js_args *a)
{
    X509 *x;
    struct js_crypto_name what;
    struct cd_buf text = {0};
    size_t flags = 0;
    int rc = certificate_arg(a, 0, &x);
    if (rc == 0)
        rc = js_crypto_name(a, 1, &what);
    if (rc == 0)
        rc = js_crypto_size(a, 3, &flags);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 2), &text);
    if (rc != 0)
        return rc;
    const char *s = cd_buf_cstr(&text);
    char *peer = NULL;
    int found;
    if (strcmp(what.text, "host") == 0)
        found = X509_check_host(x, s, text.len, (unsigned)flags, &peer);
    else if (strcmp(what.text, "email") == 0)
        found = X509_check_email(x, s, text.len, (unsigned)flags);
    else
        found = X509_check_ip_asc(x, s, (unsigned)flags);
    if (found == 1)
        js_return(a, peer != NULL ? js_text(a->js, peer) : js_bool(a->js, true));
    else if (found < 0)
        js_return(a, js_null(a->js));
    OPENSSL_free(peer);
    cd_buf_deinit(&text);
    return 0;
}

/* crypto_x509_issued(certificate, issuer's): whether the second one's name and extensions say it issued the
 * first. */
int js_op_crypto_x509_issued(struct js_args *a)
{
    X509 *x, *issuer;
    int rc = certificate_arg(a, 0, &x);
    if (rc == 0)
        rc = certificate_arg(a, 1, &issuer);
    if (rc == 0)
        js_return_bool(a, X509_check_issued(issuer, x) == X509_V_OK);
    return rc;
}

/* crypto_x509_verify(certificate, key, own): whether the key made its signature; own: whether the private key
 * is the one it is about. */
int js_op_crypto_x509_verify(struct js_args *a)
{
    X509 *x;
    EVP_PKEY *pkey;
    int rc = certificate_arg(a, 0, &x);
    if (rc == 0)
        rc = js_crypto_key(a, 1, &pkey);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    bool own = js_to_bool(a->js, js_arg(a, 2));
    js_return_bool(a, (own ? X509_check_private_key(x, pkey) : X509_verify(x, pkey)) == 1);
    ERR_clear_error();
    return 0;
}

/* ---- Signed public keys and challenges of browsers of old ---- */

/* crypto_spkac(text): [whether the signature holds, the public key as PEM, the challenge]; undefined when it
 * is malformed. */
int js_op_crypto_spkac(struct js_args *a)
{
    struct js_crypto_in in;
    int rc = js_crypto_in(a, 0, &in);
    if (rc != 0 || in.v.len == 0 || in.v.len > INT32_MAX)
        return rc;
    ERR_clear_error();
    NETSCAPE_SPKI *spki = NETSCAPE_SPKI_b64_decode(in.v.ptr, (int)in.v.len);
    if (spki == NULL)
        return 0;
    EVP_PKEY *pkey = NETSCAPE_SPKI_get_pubkey(spki);
    BIO *pem = BIO_new(BIO_s_mem());
    bool written = pkey != NULL && PEM_write_bio_PUBKEY(pem, pkey) == 1;
    const ASN1_STRING *challenge = spki->spkac->challenge;
    js_value text = js_undefined(a->js);
    rc = js_string(
        a->js,
        cd_str_of((const char *)ASN1_STRING_get0_data(challenge), (size_t)ASN1_STRING_length(challenge)),
        &text);
    const js_value parts[] = {js_bool(a->js, pkey != NULL && NETSCAPE_SPKI_verify(spki, pkey) > 0),
                              bio_value(a, pem, written), text};
    if (rc == 0)
        js_return(a, js_array(a->js, parts, CD_COUNT(parts)));
    EVP_PKEY_free(pkey);
    NETSCAPE_SPKI_free(spki);
    ERR_clear_error();
    return rc;
}
