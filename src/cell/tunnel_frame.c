#include "cell/tunnel_frame.h"

#include "cell/id.h"

#define OPEN_HEAD 19u /* Before the texts. */
#define SCRIPT_MAX 1024u
#define NAME_MAX 1024u

enum { OVERLOADED = 1, RETRYABLE = 2, RESET = 4, FLAGS = 7 };

int cell_frame_take(struct cd_str in, struct cell_frame *out, const char **why)
{
    if (in.len < CELL_FRAME_HEAD)
        return 0;
    size_t len = cd_get_u32(in.ptr);
    unsigned type = (unsigned char)in.ptr[4];
    if (len > CELL_FRAME_PAYLOAD_MAX) {
        *why = "a frame that is too long";
        return CD_EINVAL;
    }
    if (type >= CELL_FRAME_TYPES) {
        *why = "a frame of an unknown type";
        return CD_EINVAL;
    }
    if (in.len < CELL_FRAME_HEAD + len)
        return 0;
    out->type = (enum cell_frame_type)type;
    out->wire = cd_get_u64(in.ptr + 5);
    out->payload = cd_str_sub(in, CELL_FRAME_HEAD, len);
    return (int)(CELL_FRAME_HEAD + len);
}

const char *cell_frame_check(const struct cell_frame *f, bool caller)
{
    struct cell_frame_open open;
    struct cell_close close;
    switch (f->type) {
    case CELL_FRAME_OPEN:
        if (!caller)
            return "a call from the node that was called";
        return cell_frame_open_read(f->payload, &open) ? NULL : "a call that cannot be read";
    case CELL_FRAME_STARTED:
        return caller || f->payload.len != 0 ? "a start from the node that calls, or with bytes" : NULL;
    case CELL_FRAME_REFUSED:
        if (caller)
            return "a refusal from the node that calls";
        return cell_frame_close_read(f->payload, &close) && close.refusal != CELL_NOT_REFUSED
                   ? NULL
                   : "a refusal that cannot be read";
    case CELL_FRAME_CLOSE:
        return cell_frame_close_read(f->payload, &close) ? NULL : "an end that cannot be read";
    case CELL_FRAME_PART: return f->payload.len == 0 ? "a part without bytes" : NULL;
    case CELL_FRAME_DATA: return NULL;
    case CELL_FRAME_CREDIT: return f->payload.len != 4 ? "a credit that is no number" : NULL;
    case CELL_FRAME_PING:
    case CELL_FRAME_PONG: return f->payload.len != 0 || f->wire != 0 ? "a sign of life with bytes" : NULL;
    case CELL_FRAME_END:
        return caller || f->payload.len != 0 || f->wire != 0
                   ? "an end from the node that calls, or with bytes"
                   : NULL;
    case CELL_FRAME_LOST:
    case CELL_FRAME_TYPES: break;
    }
    return "a frame of an unknown type";
}

static void add_head(struct cd_buf *out, enum cell_frame_type type, uint64_t wire, size_t len)
{
    CD_ASSERT(len <= CELL_FRAME_PAYLOAD_MAX);
    cd_buf_add_u32(out, (uint32_t)len);
    cd_buf_add_byte(out, (char)type);
    cd_buf_add_u64(out, wire);
}

void cell_frame_add(struct cd_buf *out, enum cell_frame_type type, uint64_t wire, struct cd_str payload)
{
    add_head(out, type, wire, payload.len);
    cd_buf_add_str(out, payload);
}

void cell_frame_add_open(struct cd_buf *out, uint64_t wire, const struct cell_frame_open *o)
{
    CD_ASSERT(o->scope.len <= UINT16_MAX && o->script.len <= SCRIPT_MAX && o->name.len <= NAME_MAX);
    add_head(out, CELL_FRAME_OPEN, wire, OPEN_HEAD + o->scope.len + o->script.len + o->name.len);
    cd_buf_add_byte(out, (char)o->hops);
    cd_buf_add_u32(out, o->deadline_ms);
    cd_buf_add_u64(out, o->epoch);
    cd_buf_add_u16(out, (uint16_t)o->scope.len);
    cd_buf_add_u16(out, (uint16_t)o->script.len);
    cd_buf_add_u16(out, (uint16_t)o->name.len);
    cd_buf_add_str(out, o->scope);
    cd_buf_add_str(out, o->script);
    cd_buf_add_str(out, o->name);
}

bool cell_frame_open_read(struct cd_str p, struct cell_frame_open *out)
{
    if (p.len < OPEN_HEAD)
        return false;
    size_t scope = cd_get_u16(p.ptr + 13), script = cd_get_u16(p.ptr + 15), name = cd_get_u16(p.ptr + 17);
    *out = (struct cell_frame_open){.hops = (unsigned char)p.ptr[0],
                                    .deadline_ms = cd_get_u32(p.ptr + 1),
                                    .epoch = cd_get_u64(p.ptr + 5),
                                    .scope = cd_str_sub(p, OPEN_HEAD, scope),
                                    .script = cd_str_sub(p, OPEN_HEAD + scope, script),
                                    .name = cd_str_sub(p, OPEN_HEAD + scope + script, name)};
    return p.len == OPEN_HEAD + scope + script + name && script <= SCRIPT_MAX && name <= NAME_MAX &&
           cell_scope_valid(out->scope);
}

void cell_frame_add_close(struct cd_buf *out, enum cell_frame_type type, uint64_t wire,
                          const struct cell_close *why)
{
    struct cd_str text = cd_str_sub(why->text, 0, CELL_FRAME_TEXT_MAX);
    add_head(out, type, wire, 2 + text.len);
    cd_buf_add_byte(out, (char)why->refusal);
    cd_buf_add_byte(out, (char)((why->overloaded ? OVERLOADED : 0) | (why->retryable ? RETRYABLE : 0) |
                                (why->reset ? RESET : 0)));
    cd_buf_add_str(out, text);
}

bool cell_frame_close_read(struct cd_str p, struct cell_close *out)
{
    if (p.len < 2 || p.len > 2 + CELL_FRAME_TEXT_MAX)
        return false;
    unsigned refusal = (unsigned char)p.ptr[0], flags = (unsigned char)p.ptr[1];
    if (refusal >= CELL_REFUSALS || flags > FLAGS)
        return false;
    *out = (struct cell_close){.text = cd_str_sub(p, 2, SIZE_MAX),
                               .overloaded = (flags & OVERLOADED) != 0,
                               .retryable = (flags & RETRYABLE) != 0,
                               .reset = (flags & RESET) != 0,
                               .refusal = (enum cell_refusal)refusal};
    return true;
}

void cell_frame_add_credit(struct cd_buf *out, uint64_t wire, uint32_t bytes)
{
    add_head(out, CELL_FRAME_CREDIT, wire, 4);
    cd_buf_add_u32(out, bytes);
}
