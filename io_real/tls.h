/* io_real/tls.h: TLS as its client, over buffers: OpenSSL reads and writes memory, stream.c moves the bytes.
 */
#ifndef IO_REAL_TLS_H
#define IO_REAL_TLS_H

#include "base/buf.h"
#include "io/io.h"

struct real_tls;
struct real_tls_trust; /* What certificates are checked against: one for a loop. */

/* NULL: OpenSSL has no memory. The certificates of the machine: SSL_CERT_FILE and SSL_CERT_DIR, or where
 * OpenSSL looks by itself. */
struct real_tls_trust *real_tls_trust_new(void);
void real_tls_trust_free(struct real_tls_trust *t); /* NULL is fine. */

/* name: whom the certificate has to be for, a DNS name or a literal address. NULL: it cannot be. */
struct real_tls *real_tls_new(struct real_tls_trust *trust, const char *name);
void real_tls_free(struct real_tls *t); /* NULL is fine. */

/* What is to be sent: appended to by the calls below, taken by the caller from the front. */
struct cd_buf *real_tls_out(struct real_tls *t);
void real_tls_in(struct real_tls *t, struct cd_str bytes); /* What came. */

/* IO_BUSY: more has to come first. IO_PROTOCOL: it failed, why says it. */
CD_MUST_USE int real_tls_handshake(struct real_tls *t, char *why, size_t why_size);
/* IO_OK with 1..cap bytes; IO_BUSY; IO_EOF: the peer has said that it ends; IO_PROTOCOL. */
CD_MUST_USE int real_tls_read(struct real_tls *t, void *buf, size_t cap, size_t *got);
CD_MUST_USE int real_tls_write(struct real_tls *t, struct cd_str bytes); /* IO_OK or IO_PROTOCOL. */
void real_tls_end(struct real_tls *t); /* Says that nothing follows; once. */

#endif
