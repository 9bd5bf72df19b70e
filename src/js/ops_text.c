/* js/ops_text.c: host functions for URLs. */
#include "js/ops_text.h"

#include <ada_c.h>

#include "js/ops.h"
#include "js/worker_internal.h"

/* ---- URLs: the WHATWG's parser is ada's ---- */

/* Of the text that is the first argument, seen from the base that is the second one, if any. *out: to be
 * freed with ada_free(); NULL: it is not valid. */
static int url_arg(struct js_args *a, ada_url *out)
{
    struct cd_buf text = {0}, base = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &text);
    bool has_base = !js_is_undefined(js_arg(a, 1));
    *out = NULL;
    if (rc == 0 && has_base)
        rc = js_to_utf8(a->js, js_arg(a, 1), &base);
    if (rc == 0) {
        ada_url url = has_base
                          ? ada_parse_with_base(cd_buf_cstr(&text), text.len, cd_buf_cstr(&base), base.len)
                          : ada_parse(cd_buf_cstr(&text), text.len);
        if (ada_is_valid(url))
            *out = url;
        else
            ada_free(url);
    }
    cd_buf_deinit(&text);
    cd_buf_deinit(&base);
    return rc;
}

#define PLACES 8u

static void url_places(ada_url url, uint32_t out[PLACES])
{
    const ada_url_components *c = ada_get_components(url);
    const uint32_t place[PLACES] = {c->protocol_end, c->username_end,   c->host_start,   c->host_end,
                                    c->port,         c->pathname_start, c->search_start, c->hash_start};
    memcpy(out, place, sizeof place);
}

/* The href and where its parts end: [href, protocol_end, username_end, host_start, host_end, port or -1,
 * pathname_start, search_start or -1, hash_start or -1, origin]. */
static int url_return(struct js_args *a, ada_url url)
{
    uint32_t place[PLACES];
    ada_string href = ada_get_href(url);
    ada_owned_string origin = ada_get_origin(url);
    js_value href_value, origin_value;
    int rc = js_string(a->js, cd_str_of(href.data, href.length), &href_value);
    if (rc == 0)
        rc = js_string(a->js, cd_str_of(origin.data, origin.length), &origin_value);
    ada_free_owned_string(origin);
    if (rc != 0)
        return rc;
    url_places(url, place);
    js_value values[PLACES + 2];
    values[0] = href_value;
    for (unsigned i = 0; i < PLACES; i++)
        values[i + 1] = js_int(a->js, place[i] == ada_url_omitted ? -1 : (int32_t)place[i]);
    values[PLACES + 1] = origin_value;
    js_return(a, js_array(a->js, values, CD_COUNT(values)));
    return 0;
}

/* url_parse(text, base or undefined): undefined when it is not valid. */
int js_op_url_parse(struct js_args *a)
{
    ada_url url;
    int rc = url_arg(a, &url);
    if (rc != 0 || url == NULL)
        return rc;
    rc = url_return(a, url);
    ada_free(url);
    return rc;
}

/* url_parts(text, base or undefined, places): the href; undefined when it is not valid. places: undefined, or
 * an Int32Array for the eight numbers of url_parse. */
int js_op_url_parts(struct js_args *a)
{
    ada_url url;
    struct js_bytes places;
    uint32_t place[PLACES];
    CD_STATIC_ASSERT(ada_url_omitted == UINT32_MAX, "-1 as an int32_t");
    int rc = url_arg(a, &url);
    if (rc != 0 || url == NULL)
        return rc;
    url_places(url, place);
    if (js_bytes(js_arg(a, 2), &places) && places.len == sizeof place)
        memcpy(places.ptr, place, sizeof place);
    ada_string href = ada_get_href(url);
    js_value v;
    rc = js_string(a->js, cd_str_of(href.data, href.length), &v);
    if (rc == 0)
        js_return(a, v);
    ada_free(url);
    return rc;
}

/* url_set(href, part, text): the setters of URL; part in the order below. The new parts as of url_parse;
 * undefined: not valid, nothing changed. */
int js_op_url_set(struct js_args *a)
{
    struct cd_buf href = {0}, text = {0};
    uint64_t part = 0;
    int rc = js_to_utf8(a->js, js_arg(a, 0), &href);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &part);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 2), &text);
    if (rc == 0) {
        ada_url url = ada_parse(cd_buf_cstr(&href), href.len);
        const char *in = cd_buf_cstr(&text);
        bool ok = ada_is_valid(url);
        switch (ok ? part : UINT64_MAX) {
        case 0: ok = ada_set_protocol(url, in, text.len); break;
        case 1: ok = ada_set_username(url, in, text.len); break;
        case 2: ok = ada_set_password(url, in, text.len); break;
        case 3: ok = ada_set_host(url, in, text.len); break;
        case 4: ok = ada_set_hostname(url, in, text.len); break;
        case 5: ok = ada_set_port(url, in, text.len); break;
        case 6: ok = ada_set_pathname(url, in, text.len); break;
        case 7: ada_set_search(url, in, text.len); break;
        case 8: ada_set_hash(url, in, text.len); break;
        default: ok = false; break;
        }
        if (ok)
            rc = url_return(a, url);
        ada_free(url);
    }
    cd_buf_deinit(&href);
    cd_buf_deinit(&text);
    return rc;
}
