/* js/engine_value.cc: kinds, primitives, strings. */
#include "js/engine_internal.h"

enum js_kind js_kind(js_value v)
{
    v8::Local<v8::Value> l = js_local(v);
    /* Undefined, null and strings are looked at without a call. */
    if (l->IsUndefined())
        return JS_UNDEFINED;
    if (l->IsNull())
        return JS_NULL;
    if (l->IsString())
        return JS_STRING;
    if (l->IsNumber())
        return JS_NUMBER;
    if (l->IsBoolean())
        return JS_BOOL;
    if (l->IsBigInt())
        return JS_BIGINT;
    if (l->IsSymbol())
        return JS_SYMBOL;
    return JS_OBJECT;
}

bool js_is(js_value v, js_class what)
{
    v8::Local<v8::Value> l = js_local(v);
    switch (what) {
    case JS_IS_FUNCTION: return l->IsFunction();
    case JS_IS_ASYNC_FUNCTION: return l->IsAsyncFunction();
    case JS_IS_ARRAY: return l->IsArray();
    case JS_IS_PROMISE: return l->IsPromise();
    case JS_IS_PROXY: return l->IsProxy();
    case JS_IS_DATE: return l->IsDate();
    case JS_IS_REGEXP: return l->IsRegExp();
    case JS_IS_ERROR: return l->IsNativeError();
    case JS_IS_MAP: return l->IsMap();
    case JS_IS_SET: return l->IsSet();
    case JS_IS_ARRAY_BUFFER: return l->IsArrayBuffer();
    case JS_IS_SHARED_ARRAY_BUFFER: return l->IsSharedArrayBuffer();
    case JS_IS_VIEW: return l->IsArrayBufferView();
    case JS_IS_TYPED_ARRAY: return l->IsTypedArray();
    case JS_IS_UINT8_ARRAY: return l->IsUint8Array();
    case JS_IS_DATA_VIEW: return l->IsDataView();
    case JS_IS_EXTERNAL: return l->IsExternal();
    case JS_IS_WASM_MODULE: return l->IsWasmModuleObject();
    case JS_IS_NAMESPACE: return l->IsModuleNamespaceObject();
    case JS_IS_GENERATOR: return l->IsGeneratorObject();
    case JS_IS_GENERATOR_FUNCTION: return l->IsGeneratorFunction();
    case JS_IS_WEAK_MAP: return l->IsWeakMap();
    case JS_IS_WEAK_SET: return l->IsWeakSet();
    case JS_IS_MAP_ITERATOR: return l->IsMapIterator();
    case JS_IS_SET_ITERATOR: return l->IsSetIterator();
    case JS_IS_ARGUMENTS: return l->IsArgumentsObject();
    case JS_IS_NUMBER_OBJECT: return l->IsNumberObject();
    case JS_IS_STRING_OBJECT: return l->IsStringObject();
    case JS_IS_BOOLEAN_OBJECT: return l->IsBooleanObject();
    case JS_IS_BIGINT_OBJECT: return l->IsBigIntObject();
    case JS_IS_SYMBOL_OBJECT: return l->IsSymbolObject();
    case JS_CLASS_COUNT: break;
    }
    CD_UNREACHABLE();
}

bool js_is_int32(js_value v)
{
    return js_local(v)->IsInt32();
}

bool js_same(js_value a, js_value b)
{
    return js_local(a)->StrictEquals(js_local(b));
}

bool js_same_value(js_value a, js_value b)
{
    return js_local(a)->SameValue(js_local(b));
}

int js_instance_of(js_isolate *js, js_value v, js_value constructor, bool *out)
{
    js_fallible(js);
    if (!js_local(constructor)->IsObject())
        return js_throw_error(js, JS_TYPE_ERROR, "the right side of instanceof is not an object");
    return js_local(v)->InstanceOf(js_context(js), js_as<v8::Object>(constructor)).To(out) ? 0 : JS_THREW;
}

void js_class_name(js_isolate *js, js_value object, cd_buf *out)
{
    CD_ASSERT(js_local(object)->IsObject());
    v8::HandleScope scope(js->v8);
    js_v8_utf8(js, js_as<v8::Object>(object)->GetConstructorName(), out);
}

js_value js_undefined(js_isolate *js)
{
    return js_of(v8::Undefined(js->v8));
}

js_value js_null(js_isolate *js)
{
    return js_of(v8::Null(js->v8));
}

js_value js_bool(js_isolate *js, bool v)
{
    return js_of(v8::Boolean::New(js->v8, v));
}

js_value js_int(js_isolate *js, int32_t v)
{
    return js_of(v8::Integer::New(js->v8, v));
}

js_value js_number(js_isolate *js, double v)
{
    return js_of(v8::Number::New(js->v8, v));
}

js_value js_bigint(js_isolate *js, int64_t v)
{
    return js_of(v8::BigInt::New(js->v8, v));
}

js_value js_bigint_u64(js_isolate *js, uint64_t v)
{
    return js_of(v8::BigInt::NewFromUnsigned(js->v8, v));
}

int js_date(js_isolate *js, double ms, js_value *out)
{
    js_fallible(js);
    return js_give(v8::Date::New(js_context(js), ms), out);
}

bool js_to_bool(js_isolate *js, js_value v)
{
    return js_local(v)->BooleanValue(js->v8);
}

int js_to_number(js_isolate *js, js_value v, double *out)
{
    js_fallible(js);
    return js_local(v)->NumberValue(js_context(js)).To(out) ? 0 : JS_THREW;
}

int js_to_int32(js_isolate *js, js_value v, int32_t *out)
{
    js_fallible(js);
    return js_local(v)->Int32Value(js_context(js)).To(out) ? 0 : JS_THREW;
}

int js_to_string(js_isolate *js, js_value v, js_value *out)
{
    js_fallible(js);
    return js_give(js_local(v)->ToString(js_context(js)), out);
}

double js_as_number(js_value number)
{
    CD_ASSERT(js_local(number)->IsNumber());
    return js_as<v8::Number>(number)->Value();
}

double js_as_date(js_value date)
{
    CD_ASSERT(js_local(date)->IsDate());
    return js_as<v8::Date>(date)->ValueOf();
}

int64_t js_as_i64(js_value bigint, bool *lossless)
{
    CD_ASSERT(js_local(bigint)->IsBigInt());
    return js_as<v8::BigInt>(bigint)->Int64Value(lossless);
}

uint64_t js_as_u64(js_value bigint, bool *lossless)
{
    CD_ASSERT(js_local(bigint)->IsBigInt());
    return js_as<v8::BigInt>(bigint)->Uint64Value(lossless);
}

js_value js_symbol(js_isolate *js, const char *description)
{
    return js_of(v8::Symbol::New(js->v8, js_v8_text(js, description)));
}

js_value js_symbol_well_known(js_isolate *js, js_well_known which)
{
    switch (which) {
    case JS_SYMBOL_ITERATOR: return js_of(v8::Symbol::GetIterator(js->v8));
    case JS_SYMBOL_ASYNC_ITERATOR: return js_of(v8::Symbol::GetAsyncIterator(js->v8));
    case JS_SYMBOL_TO_STRING_TAG: return js_of(v8::Symbol::GetToStringTag(js->v8));
    }
    CD_UNREACHABLE();
}

/* ---- Strings */

static_assert(JS_STRING_MAX == v8::String::kMaxLength);

v8::Local<v8::String> js_v8_text(js_isolate *js, const char *text)
{
    size_t len = strlen(text);
    CD_ASSERT(len < (1u << 20));
    return v8::String::NewFromUtf8(js->v8, text, v8::NewStringType::kInternalized, static_cast<int>(len))
        .ToLocalChecked();
}

/* Bytes up to the first one that is not ASCII, eight at a time. */
static size_t ascii_prefix(const uint8_t *p, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, p + i, sizeof word);
        if ((word & 0x8080808080808080u) != 0)
            break;
    }
    while (i < len && p[i] < 0x80)
        i++;
    return i;
}

v8::MaybeLocal<v8::String> js_v8_string(js_isolate *js, struct cd_str utf8)
{
    v8::MaybeLocal<v8::String> s;
    /* More bytes than the limit may still be few enough units, but not more than three times as many. */
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(utf8.len == 0 ? "" : utf8.ptr);
    if (utf8.len <= JS_STRING_MAX && ascii_prefix(bytes, utf8.len) == utf8.len)
        s = v8::String::NewFromOneByte(js->v8, bytes, v8::NewStringType::kNormal, static_cast<int>(utf8.len));
    else if (utf8.len <= INT32_MAX)
        s = v8::String::NewFromUtf8(js->v8, utf8.len == 0 ? "" : utf8.ptr, v8::NewStringType::kNormal,
                                    static_cast<int>(utf8.len));
    if (s.IsEmpty() && !js->v8->HasPendingException())
        js_throw_error(js, JS_RANGE_ERROR, "Invalid string length");
    return s;
}

int js_string(js_isolate *js, struct cd_str utf8, js_value *out)
{
    js_fallible(js);
    return js_give(js_v8_string(js, utf8), out);
}

int js_string_latin1(js_isolate *js, struct cd_str bytes, js_value *out)
{
    js_fallible(js);
    if (bytes.len > JS_STRING_MAX)
        return js_throw_error(js, JS_RANGE_ERROR, "Invalid string length");
    return js_give(
        v8::String::NewFromOneByte(js->v8, reinterpret_cast<const uint8_t *>(bytes.len == 0 ? "" : bytes.ptr),
                                   v8::NewStringType::kNormal, static_cast<int>(bytes.len)),
        out);
}

int js_string_utf16(js_isolate *js, const uint16_t *units, size_t count, js_value *out)
{
    js_fallible(js);
    static const uint16_t none[1] = {0};
    if (count > JS_STRING_MAX)
        return js_throw_error(js, JS_RANGE_ERROR, "Invalid string length");
    return js_give(v8::String::NewFromTwoByte(js->v8, count == 0 ? none : units, v8::NewStringType::kNormal,
                                              static_cast<int>(count)),
                   out);
}

namespace
{
class one_byte final : public v8::String::ExternalOneByteStringResource
{
  public:
    one_byte(struct cd_str bytes, void (*release)(void *), void *arg)
        : bytes_(bytes), release_(release), arg_(arg)
    {
    }
    ~one_byte() override
    {
        release_(arg_);
    }
    const char *data() const override
    {
        return bytes_.ptr;
    }
    size_t length() const override
    {
        return bytes_.len;
    }

  private:
    const struct cd_str bytes_;
    void (*const release_)(void *);
    void *const arg_;
};
} /* namespace */

int js_string_external(js_isolate *js, struct cd_str bytes, void (*release)(void *arg), void *arg,
                       js_value *out)
{
    js_fallible(js);
    /* V8 makes no external strings of a few bytes: the resource would be dropped in a way that differs. */
    if (bytes.len < 64 || bytes.len > JS_STRING_MAX) {
        int rc = js_string_latin1(js, bytes, out);
        release(arg);
        return rc;
    }
    one_byte *resource = new one_byte(bytes, release, arg);
    v8::Local<v8::String> s;
    if (!v8::String::NewExternalOneByte(js->v8, resource).ToLocal(&s)) {
        delete resource;
        return js->v8->HasPendingException() ? JS_THREW
                                             : js_throw_error(js, JS_RANGE_ERROR, "Invalid string length");
    }
    *out = js_of(s);
    return 0;
}

js_value js_text(js_isolate *js, const char *text)
{
    return js_of(js_v8_text(js, text));
}

size_t js_string_len(js_value string)
{
    CD_ASSERT(js_local(string)->IsString());
    return static_cast<size_t>(js_as<v8::String>(string)->Length());
}

static void add_latin1(const uint8_t *p, size_t len, cd_buf *out)
{
    size_t plain = ascii_prefix(p, len);
    cd_buf_add(out, p, plain);
    if (plain == len)
        return;
    char *to = cd_buf_reserve(out, 2 * (len - plain));
    size_t n = 0;
    for (size_t i = plain; i < len; i++) {
        if (p[i] < 0x80) {
            to[n++] = static_cast<char>(p[i]);
        } else {
            to[n++] = static_cast<char>(0xc0 | p[i] >> 6);
            to[n++] = static_cast<char>(0x80 | (p[i] & 0x3f));
        }
    }
    out->len += n;
}

static size_t put_code_point(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        to[0] = static_cast<char>(0xc0 | c >> 6);
        to[1] = static_cast<char>(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = static_cast<char>(0xe0 | c >> 12);
        to[1] = static_cast<char>(0x80 | (c >> 6 & 0x3f));
        to[2] = static_cast<char>(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = static_cast<char>(0xf0 | c >> 18);
    to[1] = static_cast<char>(0x80 | (c >> 12 & 0x3f));
    to[2] = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    to[3] = static_cast<char>(0x80 | (c & 0x3f));
    return 4;
}

static void add_utf16(const uint16_t *p, size_t len, cd_buf *out)
{
    char *to = cd_buf_reserve(out, 3 * len);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t c = p[i];
        if ((c & 0xf800) == 0xd800) {
            bool pair = c < 0xdc00 && i + 1 < len && (p[i + 1] & 0xfc00) == 0xdc00;
            c = pair ? 0x10000 + ((c - 0xd800) << 10) + (p[i + 1] - 0xdc00u) : 0xfffd;
            i += pair;
        }
        n += put_code_point(to + n, c);
    }
    out->len += n;
}

void js_v8_utf8(js_isolate *js, v8::Local<v8::String> s, cd_buf *out)
{
    v8::HandleScope scope(js->v8); /* The view takes a handle. */
    v8::String::ValueView view(js->v8, s);
    if (view.is_one_byte())
        add_latin1(view.data8(), view.length(), out);
    else
        add_utf16(view.data16(), view.length(), out);
}

void js_string_add(js_isolate *js, js_value string, cd_buf *out)
{
    CD_ASSERT(js_local(string)->IsString());
    js_v8_utf8(js, js_as<v8::String>(string), out);
}

int js_to_utf8(js_isolate *js, js_value v, cd_buf *out)
{
    if (js_local(v)->IsString()) {
        js_v8_utf8(js, js_as<v8::String>(v), out);
        return 0;
    }
    js_fallible(js);
    v8::HandleScope scope(js->v8);
    v8::Local<v8::String> s;
    if (!js_local(v)->ToString(js_context(js)).ToLocal(&s))
        return JS_THREW;
    js_v8_utf8(js, s, out);
    return 0;
}

void js_string_add_utf16(js_isolate *js, js_value string, cd_buf *out)
{
    CD_ASSERT(js_local(string)->IsString());
    v8::String::ValueView view(js->v8, js_as<v8::String>(string));
    char *to = cd_buf_reserve(out, (size_t)view.length() * 2);
    for (uint32_t i = 0; i < view.length(); i++) {
        uint16_t unit = view.is_one_byte() ? view.data8()[i] : view.data16()[i];
        to[i * 2] = static_cast<char>(unit & 0xff);
        to[i * 2 + 1] = static_cast<char>(unit >> 8);
    }
    out->len += (size_t)view.length() * 2;
}

bool js_string_add_latin1(js_isolate *js, js_value string, cd_buf *out)
{
    CD_ASSERT(js_local(string)->IsString());
    v8::String::ValueView view(js->v8, js_as<v8::String>(string));
    if (view.is_one_byte()) {
        cd_buf_add(out, view.data8(), view.length());
        return true;
    }
    const uint16_t *p = view.data16();
    for (uint32_t i = 0; i < view.length(); i++) {
        if (p[i] > 0xff)
            return false;
    }
    char *to = cd_buf_reserve(out, view.length());
    for (uint32_t i = 0; i < view.length(); i++)
        to[i] = static_cast<char>(p[i]);
    out->len += view.length();
    return true;
}

bool js_string_eq(js_isolate *js, js_value string, const char *ascii)
{
    CD_ASSERT(js_local(string)->IsString());
    v8::String::ValueView view(js->v8, js_as<v8::String>(string));
    return view.is_one_byte() && view.length() == strlen(ascii) &&
           memcmp(view.data8(), ascii, view.length()) == 0;
}
