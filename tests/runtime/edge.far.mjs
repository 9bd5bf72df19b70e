// The script FAR of edge.mjs.
export default {
    fetch: () => new Promise(() => {}),
};
