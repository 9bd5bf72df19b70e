/* js/wasm_scan.h: what a WebAssembly module says of its memories. */
#ifndef JS_WASM_SCAN_H
#define JS_WASM_SCAN_H

#include "base/str.h"

/* Whether a module defines a memory that threads could share. False for what is no module: V8 refuses it. */
bool js_wasm_shares(struct cd_str module);

#endif
