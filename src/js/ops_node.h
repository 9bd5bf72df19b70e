/* js/ops_node.h: host functions: what node: modules need. */
#ifndef JS_OPS_NODE_H
#define JS_OPS_NODE_H

#define JS_OPS_NODE(X)

#endif
