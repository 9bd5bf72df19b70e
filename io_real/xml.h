/* io_real/xml.h: reads the XML that object stores answer with: elements and text, nothing else.
 *
 * No recursion, bounded depth, no document types and so no entities but the five of XML itself; attributes
 * and namespace prefixes are skipped. Foreign bytes: every malformed document is CD_ESYNTAX. */
#ifndef IO_REAL_XML_H
#define IO_REAL_XML_H

#include "base/buf.h"

#define XML_DEPTH_MAX 16u

enum xml_kind { XML_OPEN, XML_CLOSE, XML_END };

struct xml {
    struct cd_str rest;
    struct cd_str open[XML_DEPTH_MAX]; /* Names as written. */
    unsigned depth;
    bool closing; /* The element just opened was an empty one: its close comes next. */
    bool rooted; /* The root element was opened. */
    struct cd_buf text; /* owned; see xml_next */
};

void xml_init(struct xml *x, struct cd_str document); /* Borrowed until xml_deinit. */
void xml_deinit(struct xml *x);
/* The next tag, its name without prefix in *name. At XML_CLOSE of an element without children, x->text is its
 * decoded text. XML_END comes once, after a complete document. CD_ESYNTAX: malformed. */
CD_MUST_USE int xml_next(struct xml *x, enum xml_kind *kind, struct cd_str *name);

#endif
