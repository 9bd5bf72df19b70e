// blob.js: Blob and File. runtime.md 5.1.
import { expose } from './core.js';

export class Blob {
    #bytes;
    #type;
    static make(bytes, type) {
        const b = new Blob();
        b.#bytes = bytes;
        b.#type = type;
        return b;
    }
    static bytes = (b) => b.#bytes;
    get type() {
        return this.#type;
    }
}
export const { make: blobOf, bytes: blobBytes } = Blob;
delete Blob.make;
delete Blob.bytes;
expose({ Blob });
