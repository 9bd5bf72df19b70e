// node/npm/abort_controller.js: what the package readable-stream finds as abort-controller.
export const { AbortController, AbortSignal } = globalThis;
