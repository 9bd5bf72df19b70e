// One short text: what a request costs when the handler does nothing.
export default {
    async fetch() {
        return new Response('Hello World!');
    },
};
