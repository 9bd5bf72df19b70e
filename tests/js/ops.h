/* tests/js/ops.h: the host functions of the tests' snapshot, in the order of their numbers. */
#ifndef TESTS_JS_OPS_H
#define TESTS_JS_OPS_H

#define JS_OPS(X) X(log) X(add) X(fail) X(code) X(echo) X(later)

#endif
