// node/tty.js: node:tty: no descriptor is a terminal.
import Stream from './stream.js';

const none = (callback) => {
    if (typeof callback === 'function') callback();
    return false;
};

class ReadStream extends Stream.Readable {
    constructor(fd, options) {
        super({ ...options, read() { this.push(null); } });
        this.fd = fd;
        this.isRaw = false;
        this.isTTY = false;
    }
    setRawMode() {
        return this; // There is no terminal whose mode could change.
    }
}
class WriteStream extends Stream.Writable {
    constructor(fd, options) {
        super({
            decodeStrings: false,
            ...options,
            write(chunk, encoding, done) {
                (fd === 2 ? globalThis.process.stderr : globalThis.process.stdout).write(chunk, encoding, done);
            },
        });
        this.fd = fd;
        this.columns = 0;
        this.rows = 0;
    }
    getColorDepth() {
        return 8;
    }
    hasColors() {
        return false;
    }
    _refreshSize() {}
    getWindowSize() {
        return [this.columns, this.rows];
    }
    cursorTo(x, y, callback) {
        return none(typeof y === 'function' ? y : callback);
    }
    moveCursor(dx, dy, callback) {
        return none(callback);
    }
    clearLine(dir, callback) {
        return none(callback);
    }
    clearScreenDown(callback) {
        return none(callback);
    }
}
WriteStream.prototype.isTTY = true;
for (const [name, cls] of Object.entries({ ReadStream, WriteStream })) Object.defineProperty(cls, 'name', { value: name, configurable: true });

export default { ReadStream, WriteStream, isatty: () => false };
