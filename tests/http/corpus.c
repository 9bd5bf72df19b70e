/* tests/http/corpus.c: reads the cases of tests/http/corpus/requests.txt. */
#include "corpus.h"

#include "support/test.h"

const struct http_limits corpus_limits = {
    .head_max = 4096, .target_max = 1024, .fields_max = 16, .body_max = 1u << 20};

static void add_escaped(struct cd_buf *out, struct cd_str line, const char *name)
{
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (c != '\\') {
            cd_buf_add_byte(out, c);
            continue;
        }
        struct cd_str rest = cd_str_sub(line, i + 1, SIZE_MAX);
        CHECK(rest.len > 0);
        uint64_t number = 0;
        if (rest.ptr[0] == 'x') {
            CHECK_INT(cd_str_hex_u64(cd_str_sub(rest, 1, 2), &number), 0);
            cd_buf_add_byte(out, (char)(unsigned char)number);
            i += 3;
        } else if (rest.ptr[0] == '{') {
            size_t colon = cd_str_find(rest, ':', 0), end = cd_str_find(rest, '}', 0);
            CHECK(colon != SIZE_MAX && end != SIZE_MAX);
            CHECK_INT(cd_str_u64(cd_str_sub(rest, 1, colon - 1), &number), 0);
            struct cd_buf one = {0};
            add_escaped(&one, cd_str_sub(rest, colon + 1, end - colon - 1), name);
            for (uint64_t k = 0; k < number; k++)
                cd_buf_add_str(out, cd_buf_str(&one));
            cd_buf_deinit(&one);
            i += end + 1;
        } else {
            const char *known = "rnt\\0", *meant = "\r\n\t\\\0", *at = strchr(known, rest.ptr[0]);
            if (at == NULL) {
                fprintf(stderr, "corpus case %s: unknown escape \\%c\n", name, rest.ptr[0]);
                abort();
            }
            cd_buf_add_byte(out, meant[at - known]);
            i += 1;
        }
    }
}

static void case_head(struct corpus_case *c, struct cd_str line)
{
    struct cd_str word;
    c->statuses = 0;
    cd_buf_clear(&c->bytes);
    CHECK(cd_str_next(&line, ' ', &word) && cd_str_next(&line, ' ', &word) && word.len < sizeof c->name);
    memcpy(c->name, word.ptr, word.len);
    c->name[word.len] = '\0';
    while (cd_str_next(&line, ' ', &word)) {
        uint64_t status = 0;
        CHECK_INT(cd_str_u64(word, &status), 0);
        CHECK(c->statuses < CORPUS_STATUSES_MAX);
        c->status[c->statuses++] = (int)status;
    }
}

static void read_all(struct cd_buf *out, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        abort();
    }
    size_t got;
    while ((got = fread(cd_buf_reserve(out, 65536), 1, 65536, f)) > 0)
        out->len += got;
    fclose(f);
}

unsigned corpus_each(void (*each)(const struct corpus_case *c, void *arg), void *arg)
{
    struct cd_buf text = {0};
    read_all(&text, CD_TESTS_DIR "/http/corpus/requests.txt");
    struct corpus_case c = {.name = ""};
    unsigned count = 0;
    struct cd_str rest = cd_buf_str(&text), line;
    while (cd_str_next(&rest, '\n', &line)) {
        bool is_head = cd_str_starts(line, CD_STR("case "));
        if (is_head && count++ > 0)
            each(&c, arg);
        if (is_head)
            case_head(&c, line);
        else if (!cd_str_starts(line, CD_STR("#")))
            add_escaped(&c.bytes, line, c.name);
    }
    CHECK(count > 0);
    each(&c, arg);
    cd_buf_deinit(&c.bytes);
    cd_buf_deinit(&text);
    return count;
}
