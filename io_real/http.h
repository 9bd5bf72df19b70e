/* io_real/http.h: what of a request and its answer is plain text. Pure functions. */
#ifndef IO_REAL_HTTP_H
#define IO_REAL_HTTP_H

#include <curl/curl.h>

#include "base/str.h"

/* "Name: value\r\n"..., which io_http_ask_check has accepted, as libcurl wants it, and what keeps libcurl
 * from adding lines of its own. The list is the caller's. */
void real_http_lines(struct curl_slist **out, struct cd_str head);
bool real_http_method_safe(struct cd_str method); /* RFC 9110 9.2.1: asks for nothing to change. */
/* Of "HTTP/1.1 200 OK"; 0 when there is none. */
int real_http_status_of(struct cd_str line);

#endif
