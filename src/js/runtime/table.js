// table.js: rows and columns in boxes, for console.table.
import { inspect } from './inspect.js';
import { BIT, classOf } from './node/types.js';

const cell = (v) =>
    inspect(v, {
        maxArrayLength: 3,
        breakLength: Infinity,
        depth: v !== null && typeof v === 'object' && !Array.isArray(v) && Object.keys(v).length > 2 ? -1 : 0,
    });

// head: texts; columns: a list of texts for each.
function render(head, columns) {
    const height = Math.max(...columns.map((c) => c.length));
    const widths = head.map((h, i) => Math.max(h.length, ...columns[i].map((text) => text?.length ?? 0)) + 2);
    const lines = widths.map((w) => '─'.repeat(w));
    const row = (texts) => `│${texts.map((text, i) => ` ${(text ?? '').padEnd(widths[i] - 1)}`).join('│')}│`;
    const out = [`┌${lines.join('┬')}┐`, row(head), `├${lines.join('┼')}┤`];
    for (let y = 0; y < height; y++) out.push(row(columns.map((c) => c[y])));
    out.push(`└${lines.join('┴')}┘`);
    return out.join('\n');
}

// The table as text; undefined when data is none.
export function table(data, properties) {
    if (data === null || typeof data !== 'object') return undefined;
    const bits = classOf(data);
    if (bits & (BIT.map | BIT.set | BIT.mapIterator | BIT.setIterator)) {
        const [list, keyed] = host.preview(data);
        const isMap = keyed || (bits & BIT.map) !== 0;
        const values = isMap ? list.filter((_, i) => i % 2 === 1) : list;
        const index = values.map((_, i) => String(i));
        if (isMap) return render(['(iteration index)', 'Key', 'Values'], [index, list.filter((_, i) => i % 2 === 0).map(cell), values.map(cell)]);
        return render(['(iteration index)', 'Values'], [index, values.map(cell)]);
    }
    const columns = new Map();
    const plain = [];
    let hasPlain = false;
    const index = Object.keys(data);
    index.forEach((key, y) => {
        const item = data[key];
        const primitive = item === null || (typeof item !== 'object' && typeof item !== 'function');
        if (primitive) {
            hasPlain = true;
            plain[y] = cell(item);
            return;
        }
        for (const name of properties ?? Object.keys(item)) {
            if (!columns.has(name)) columns.set(name, new Array(index.length));
            if (Object.hasOwn(item, name)) columns.get(name)[y] = cell(item[name]);
        }
    });
    const head = ['(index)', ...columns.keys()];
    const body = [index, ...columns.values()];
    if (hasPlain) {
        head.push('Values');
        body.push(plain);
    }
    return render(head, body);
}
