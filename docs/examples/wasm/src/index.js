// WebAssembly: an import of a .wasm file is a compiled WebAssembly.Module.
import addition from './add.wasm';

const { exports } = new WebAssembly.Instance(addition);

export default {
    fetch(request) {
        const { searchParams } = new URL(request.url);
        return new Response(`${exports.add(Number(searchParams.get('a')), Number(searchParams.get('b')))}\n`);
    },
};
