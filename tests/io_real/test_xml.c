#include "io_real/xml.h"
#include "support/test.h"

/* The document as "(name", ")name=text" and "." for its end, or "!" where it is malformed. */
static void want_events(const char *document, const char *events)
{
    struct xml x;
    struct cd_buf got = {0};
    bool leaf = false;
    xml_init(&x, cd_str(document));
    for (;;) {
        enum xml_kind kind;
        struct cd_str name;
        if (xml_next(&x, &kind, &name) != 0) {
            cd_buf_addf(&got, "!");
            break;
        }
        if (kind == XML_END) {
            cd_buf_addf(&got, ".");
            break;
        }
        cd_buf_addf(&got, "%c%.*s", kind == XML_OPEN ? '(' : ')', (int)name.len, name.ptr);
        if (kind == XML_CLOSE && leaf)
            cd_buf_addf(&got, "=%.*s", (int)x.text.len, x.text.ptr);
        leaf = kind == XML_OPEN;
    }
    assert_string_equal(cd_buf_cstr(&got), events);
    xml_deinit(&x);
    cd_buf_deinit(&got);
}

static void test_elements_and_their_text_come_in_order(void **state)
{
    (void)state;
    want_events("<a/>", "(a)a=.");
    want_events("<?xml version=\"1.0\"?>\n<a><b>x</b> <c></c><d/></a>\n", "(a(b)b=x(c)c=(d)d=)a.");
    want_events("\xef\xbb\xbf<a>1</a>", "(a)a=1.");
    want_events("<n:a xmlns:n='u>\"<x'.><n:b k=\"/>\">y</n:b ></n:a>",
                "!"); /* '<' may not stand in a value. */
    want_events("<n:a xmlns:n='u>\"'><n:b k=\"/>\">y</n:b ></n:a>", "(a(b)b=y)a.");
    want_events("<a><!-- <b> --><![CDATA[<x>&amp;]]>z</a>", "(a)a=<x>&amp;z.");
}

static void test_entities_are_decoded(void **state)
{
    (void)state;
    want_events("<a>&lt;&gt;&amp;&quot;&apos;</a>", "(a)a=<>&\"'.");
    want_events("<a>&#65;&#x42;&#xe4;&#8364;&#x1F600;</a>", "(a)a=AB\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.");
    want_events("<a>&nbsp;</a>", "(a!");
    want_events("<a>&#0;</a>", "(a!");
    want_events("<a>&#xD800;</a>", "(a!");
    want_events("<a>&#x110000;</a>", "(a!");
    want_events("<a>&#;</a>", "(a!");
    want_events("<a>&amp</a>", "(a!");
}

static void test_malformed_documents_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   "  ",    "x",   "<?xml version='1.0'?>", "<!DOCTYPE a><a/>",
                                      "<>", "< a/>", "</a>"};
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        want_events(bad[i], "!");
    want_events("<a>", "(a!");
    want_events("<a><b></a></b>", "(a(b!");
    want_events("<a></a><b/>", "(a)a=!");
    want_events("<a></a>x", "(a)a=!");
    want_events("<a", "!");
    want_events("<a b=\"", "!");
    want_events("<a><![CDATA[", "(a!");
    want_events("<a><!-- ", "(a!");
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    struct cd_buf deep = {0}, events = {0};
    for (unsigned i = 0; i <= XML_DEPTH_MAX; i++)
        cd_buf_addf(&deep, "<a>");
    for (unsigned i = 0; i < XML_DEPTH_MAX; i++)
        cd_buf_addf(&events, "(a");
    cd_buf_addf(&events, "!");
    want_events(cd_buf_cstr(&deep), cd_buf_cstr(&events));
    cd_buf_deinit(&deep);
    cd_buf_deinit(&events);
}

CD_TESTS(xml, cmocka_unit_test(test_elements_and_their_text_come_in_order),
         cmocka_unit_test(test_entities_are_decoded), cmocka_unit_test(test_malformed_documents_are_refused),
         cmocka_unit_test(test_depth_is_bounded))
