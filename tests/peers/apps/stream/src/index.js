// 10 MiB in chunks of 64 KiB, made by JavaScript while they are read.
const chunk = new Uint8Array(64 * 1024).fill(0x2e);

export default {
    async fetch() {
        let left = 160;
        return new Response(
            new ReadableStream({
                pull(controller) {
                    if (left-- > 0) controller.enqueue(chunk);
                    else controller.close();
                },
            }),
        );
    },
};
