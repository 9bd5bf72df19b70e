// conformance/lib/report.mjs: docs/compatibility.md, made from results.
const tally = (cases) => {
    const count = (verdict) => cases.filter((c) => c.verdict === verdict).length;
    return { cases: cases.length, same: count('same'), known: count('known'), open: count('open') };
};

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function table(results) {
    const lines = ['| Area | Cases | The same on both | Known differences | Not there yet |', '| --- | ---: | ---: | ---: | ---: |'];
    const all = { cases: 0, same: 0, known: 0, open: 0 };
    for (const { title, cases } of results.areas) {
        const t = tally(cases);
        for (const key of Object.keys(all)) all[key] += t[key];
        lines.push(`| ${cell(title)} | ${t.cases} | ${t.same} | ${t.known} | ${t.open} |`);
    }
    lines.push(`| **All** | **${all.cases}** | **${all.same}** | **${all.known}** | **${all.open}** |`);
    return lines;
}

function differences(results, verdict, reason) {
    const lines = [];
    for (const { title, cases } of results.areas) {
        const some = cases.filter((c) => c.verdict === verdict);
        if (some.length === 0) continue;
        lines.push('', `### ${title}`, '', ...some.map((c) => `- ${c.name}: ${reason(c)}`));
    }
    return lines.length > 0 ? lines : ['', 'None.'];
}

// notes: the text of notes.md, for what no case can measure.
export const compatibility = (results, notes) =>
    [
        '# Compatibility with workerd',
        '',
        'Made by `tools/conformance --docs` from its results and `tests/conformance/notes.md`; do not edit.',
        '',
        `Each case of \`tests/conformance\` runs on celld and on workerd ${results.workerd} with the same modules, with compatibility`,
        `date ${results.date}. Both have to give the same observation, and the assertion of the case has to hold on both. A known`,
        'difference is one by design: the case then asserts what each of the two does.',
        '',
        ...table(results),
        '',
        ...(notes === '' ? [] : [notes.trim(), '']),
        '## Known differences',
        ...differences(results, 'known', (c) => c.why),
        '',
        '## Not there yet',
        ...differences(results, 'open', (c) => c.open),
        '',
    ].join('\n');
