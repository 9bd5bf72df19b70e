// wire_kinds.js: the kinds of messages on a wire, as ../wire_format.h numbers them. docs/rpc.md says what they mean.
export const CALL = 1, FETCH = 2, RESULT = 3, HEAD = 4, FAILURE = 5, FINISH = 6, CANCEL = 7, RELEASE = 8;
export const CHUNK = 9, VALUE = 10, CREDIT = 11, END = 12, STOP = 13, ABORTED = 14;
export const TEXT = 15, BINARY = 16, CLOSING = 17, ENDED = 18;
export const CLOSED = 0; // Not sent: the host says that the other end has gone.
