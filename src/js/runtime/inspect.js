// inspect.js: values as text, for console and node:util.
// The full inspection of node:util replaces this.
export function inspect(value) {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return value.stack ?? String(value);
    try {
        return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
    } catch {
        return Object.prototype.toString.call(value);
    }
}

export const inspectArgs = (args) => args.map((a) => (typeof a === 'string' ? a : inspect(a))).join(' ');
