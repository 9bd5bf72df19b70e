// The smallest Worker.
export default {
    fetch(request) {
        const name = new URL(request.url).searchParams.get('name') ?? 'world';
        return new Response(`Hello, ${name}!\n`);
    },
};
