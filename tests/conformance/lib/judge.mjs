// conformance/lib/judge.mjs: whether the observations of a case are what it asserts, and the same.
const sorted = (v) =>
    v === null || typeof v !== 'object' ? v
    : Array.isArray(v) ? v.map(sorted)
    : Object.fromEntries(Object.keys(v).sort().map((key) => [key, sorted(v[key])]));
export const asText = (v) => JSON.stringify(sorted(v));
const same = (a, b) => asText(a) === asText(b);

// What an observation of `answer` has to be: only the named parts matter.
function answers(seen, want) {
    const headers = Object.entries(want.headers ?? {});
    return (
        (seen.aborted ?? false) === (want.aborted ?? false) &&
        ['status', 'statusText', 'body'].every((part) => want[part] === undefined || seen[part] === want[part]) &&
        headers.every(([name, value]) => (seen.headers?.[name.toLowerCase()] ?? null) === value)
    );
}

function satisfies(kind, seen, want) {
    if (seen?.lost !== undefined) return false;
    if (kind !== 'answer') return same(seen, want);
    if (!Array.isArray(want)) return !Array.isArray(seen) && answers(seen, want);
    return Array.isArray(seen) && seen.length === want.length && want.every((one, i) => answers(seen[i], one));
}

// { verdict: 'same' | 'known' | 'open' | 'failed', problem? }
export function judge(c, celld, workerd) {
    const fails = (problem) => ({ verdict: 'failed', problem });
    if (!satisfies(c.kind, workerd, c.expected)) return fails('workerd does not do what the case asserts');
    const as_expected = satisfies(c.kind, celld, c.expected) && same(celld, workerd);
    if (c.open !== undefined) return as_expected ? fails('works now: the case is no longer open') : { verdict: 'open' };
    if (c.why !== undefined) {
        if (as_expected) return fails('celld does the same as workerd: there is no difference to know of');
        return satisfies(c.kind, celld, c.celld) ? { verdict: 'known' } : fails('celld does not do what the case knows of it');
    }
    if (as_expected) return { verdict: 'same' };
    return fails(satisfies(c.kind, celld, c.expected) ? 'the observations differ' : 'celld does not do what the case asserts');
}
