/* http/http.c: tables of HTTP's grammar. */
#include "http/http.h"

#include "io/backend.h"

const struct http_field *http_field_find(const struct http_field *field, size_t count, struct cd_str name)
{
    for (size_t i = 0; i < count; i++) {
        if (cd_str_eq_nocase(field[i].name, name))
            return &field[i];
    }
    return NULL;
}

struct cd_str http_field_value(const struct http_field *field, size_t count, struct cd_str name)
{
    const struct http_field *found = http_field_find(field, count, name);
    return found == NULL ? (struct cd_str){NULL, 0} : found->value;
}

bool http_list_has(struct cd_str list, struct cd_str token)
{
    struct cd_str piece;
    while (cd_str_next(&list, ',', &piece)) {
        if (cd_str_eq_nocase(cd_str_trim(piece), token))
            return true;
    }
    return false;
}

bool http_is_token(struct cd_str s)
{
    return io_http_is_token(s);
}

bool http_is_value(struct cd_str s)
{
    return io_http_is_value(s);
}

/* The registered texts, frequent codes reached early enough by a plain walk. */
static const struct {
    int code;
    struct cd_str text;
} status_texts[] = {
    {100, {"Continue", 8}},
    {101, {"Switching Protocols", 19}},
    {103, {"Early Hints", 11}},
    {200, {"OK", 2}},
    {201, {"Created", 7}},
    {202, {"Accepted", 8}},
    {203, {"Non-Authoritative Information", 29}},
    {204, {"No Content", 10}},
    {205, {"Reset Content", 13}},
    {206, {"Partial Content", 15}},
    {207, {"Multi-Status", 12}},
    {208, {"Already Reported", 16}},
    {226, {"IM Used", 7}},
    {300, {"Multiple Choices", 16}},
    {301, {"Moved Permanently", 17}},
    {302, {"Found", 5}},
    {303, {"See Other", 9}},
    {304, {"Not Modified", 12}},
    {305, {"Use Proxy", 9}},
    {307, {"Temporary Redirect", 18}},
    {308, {"Permanent Redirect", 18}},
    {400, {"Bad Request", 11}},
    {401, {"Unauthorized", 12}},
    {402, {"Payment Required", 16}},
    {403, {"Forbidden", 9}},
    {404, {"Not Found", 9}},
    {405, {"Method Not Allowed", 18}},
    {406, {"Not Acceptable", 14}},
    {407, {"Proxy Authentication Required", 29}},
    {408, {"Request Timeout", 15}},
    {409, {"Conflict", 8}},
    {410, {"Gone", 4}},
    {411, {"Length Required", 15}},
    {412, {"Precondition Failed", 19}},
    {413, {"Content Too Large", 17}},
    {414, {"URI Too Long", 12}},
    {415, {"Unsupported Media Type", 22}},
    {416, {"Range Not Satisfiable", 21}},
    {417, {"Expectation Failed", 18}},
    {418, {"I'm a teapot", 12}},
    {421, {"Misdirected Request", 19}},
    {422, {"Unprocessable Content", 21}},
    {423, {"Locked", 6}},
    {424, {"Failed Dependency", 17}},
    {425, {"Too Early", 9}},
    {426, {"Upgrade Required", 16}},
    {428, {"Precondition Required", 21}},
    {429, {"Too Many Requests", 17}},
    {431, {"Request Header Fields Too Large", 31}},
    {451, {"Unavailable For Legal Reasons", 29}},
    {500, {"Internal Server Error", 21}},
    {501, {"Not Implemented", 15}},
    {502, {"Bad Gateway", 11}},
    {503, {"Service Unavailable", 19}},
    {504, {"Gateway Timeout", 15}},
    {505, {"HTTP Version Not Supported", 26}},
    {506, {"Variant Also Negotiates", 23}},
    {507, {"Insufficient Storage", 20}},
    {508, {"Loop Detected", 13}},
    {511, {"Network Authentication Required", 31}},
};

struct cd_str http_status_text(int status)
{
    for (size_t i = 0; i < CD_COUNT(status_texts); i++) {
        if (status_texts[i].code == status)
            return status_texts[i].text;
    }
    static const struct cd_str kinds[] = {{"Informational", 13},
                                          {"Successful", 10},
                                          {"Redirection", 11},
                                          {"Client Error", 12},
                                          {"Server Error", 12}};
    return status >= 100 && status <= 599 ? kinds[status / 100 - 1] : CD_STR("");
}

bool http_status_bodyless(int status)
{
    return (status >= 100 && status < 200) || status == 204 || status == 304;
}
