#include "fleet/probe.h"

#include "base/encode.h"
#include "base/json.h"

static void signed_text(struct cd_buf *out, struct cd_str node, struct cd_str advertise,
                        struct cd_str challenge)
{
    cd_buf_add_str(out, CD_STR("celld-probe-v1\n"));
    cd_buf_add_str(out, node);
    cd_buf_add_byte(out, '\n');
    cd_buf_add_str(out, advertise);
    cd_buf_add_byte(out, '\n');
    cd_buf_add_str(out, challenge);
}

static void member(struct cd_json_out *o, const char *key, struct cd_str value)
{
    cd_json_out_key(o, key);
    cd_json_out_str(o, value);
}

void fleet_probe_answer(struct cd_buf *out, const struct fleet_probed *self, struct cd_str challenge)
{
    unsigned char signature[FLEET_SIGNATURE_SIZE];
    struct cd_buf text = {0}, hex = {0};
    struct cd_json_out o;
    signed_text(&text, cd_str(self->node), cd_str(self->advertise), challenge);
    fleet_key_sign(signature, self->key, cd_buf_str(&text));
    cd_hex_encode(&hex, cd_str_of(signature, sizeof signature));
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "v");
    cd_json_out_u64(&o, 1);
    member(&o, "node", cd_str(self->node));
    member(&o, "generation", cd_str(self->key->generation));
    member(&o, "advertise", cd_str(self->advertise));
    member(&o, "challenge", challenge);
    member(&o, "signature", cd_buf_str(&hex));
    cd_json_out_end(&o, '}');
    cd_buf_deinit(&text);
    cd_buf_deinit(&hex);
}

static void on_probe(void *arg, struct fleet_peer_request *r)
{
    const struct fleet_probed *self = arg;
    struct cd_str challenge =
        http_field_value(r->head->field, r->head->field_count, CD_STR("x-celld-challenge"));
    if (!store_generation_valid(challenge)) { /* The same 64 digits. */
        r->status = 400;
        cd_buf_add_str(&r->answer, CD_STR("{\"error\":\"x-celld-challenge: 64 lowercase hex digits\"}"));
        return;
    }
    r->status = 200;
    fleet_probe_answer(&r->answer, self, challenge);
}

void fleet_probe_serve(struct fleet_peer_server *s, struct fleet_probed *self)
{
    CD_STATIC_ASSERT(FLEET_CHALLENGE_LEN == STORE_GENERATION_LEN, "one check for both");
    fleet_peer_server_route(s, &(struct fleet_peer_route){.method = "GET",
                                                          .path = "/peer/probe",
                                                          .any_process = true,
                                                          .in_startup = true,
                                                          .handle = on_probe,
                                                          .arg = self});
}

/* ---- The other side ---- */

static int wrong(struct cd_buf *why, const char *what)
{
    cd_buf_addf(why, "%s", what);
    return CD_EINVAL;
}

static int check(const struct cd_json *root, const struct store_lease *lease, struct cd_str challenge,
                 struct cd_buf *why)
{
    struct cd_str node, generation, advertise, echoed, hex;
    struct cd_buf signature = {0}, text = {0};
    uint64_t version;
    if (cd_json_u64(cd_json_get(root, "v"), &version) != 0 || version != 1 ||
        cd_json_str(cd_json_get(root, "node"), &node) != 0 ||
        cd_json_str(cd_json_get(root, "generation"), &generation) != 0 ||
        cd_json_str(cd_json_get(root, "advertise"), &advertise) != 0 ||
        cd_json_str(cd_json_get(root, "challenge"), &echoed) != 0 ||
        cd_json_str(cd_json_get(root, "signature"), &hex) != 0)
        return wrong(why, "malformed answer");
    if (!cd_str_eq(node, cd_str(lease->node)))
        return wrong(why, "wrong node ID");
    if (!cd_str_eq(advertise, cd_str(lease->addr)))
        return wrong(why, "wrong advertise address");
    if (!cd_str_eq(generation, cd_str(lease->generation)))
        return wrong(why, "another process than that of the lease");
    if (!cd_str_eq(echoed, challenge))
        return wrong(why, "bad challenge");
    signed_text(&text, node, advertise, challenge);
    bool ok = cd_hex_decode(&signature, hex) == 0 &&
              fleet_key_verify(cd_str(lease->probe_key), cd_buf_str(&text), cd_buf_str(&signature));
    cd_buf_deinit(&signature);
    cd_buf_deinit(&text);
    return ok ? 0 : wrong(why, "bad signature");
}

int fleet_probe_check(struct cd_str body, const struct store_lease *lease, struct cd_str challenge,
                      struct cd_buf *why)
{
    struct cd_json_doc *doc;
    if (body.len > FLEET_PROBE_ANSWER_MAX)
        return wrong(why, "oversized answer");
    if (cd_json_parse(&doc, body, NULL) != 0)
        return wrong(why, "malformed answer");
    int rc = check(cd_json_root(doc), lease, challenge, why);
    cd_json_free(doc);
    return rc;
}

int fleet_probe(struct fleet_peer_client *c, struct io *io, const struct store_lease *lease,
                uint64_t deadline_ns, struct cd_buf *why)
{
    unsigned char random[FLEET_CHALLENGE_LEN / 2];
    struct cd_buf challenge = {0};
    struct fleet_peer peer;
    io_random(io, IO_RAND_ID, random, sizeof random);
    cd_hex_encode(&challenge, cd_str_of(random, sizeof random));
    fleet_peer_of_lease(&peer, lease);
    peer.generation[0] = 0; /* Whichever process is there: its answer tells. */
    const struct http_field field = {CD_STR("x-celld-challenge"), cd_buf_str(&challenge)};
    struct fleet_peer_call call = {.peer = &peer,
                                   .method = CD_STR("GET"),
                                   .target = CD_STR("/peer/probe"),
                                   .field = &field,
                                   .field_count = 1,
                                   .deadline_ns = deadline_ns,
                                   .answer_max = FLEET_PROBE_ANSWER_MAX};
    int rc = fleet_peer_call(c, &call);
    if (rc != IO_OK) {
        cd_buf_addf(why, "%s", call.why);
    } else if (call.status != 200) {
        cd_buf_addf(why, "status %d", call.status);
        rc = IO_PROTOCOL;
    } else {
        rc = fleet_probe_check(cd_buf_str(&call.answer), lease, cd_buf_str(&challenge), why);
    }
    cd_buf_deinit(&call.answer);
    cd_buf_deinit(&challenge);
    return rc;
}
