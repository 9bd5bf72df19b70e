// About a millisecond of plain JavaScript: objects, JSON, text, a regular expression, sorting.
const NAMES = ['ash', 'beech', 'cedar', 'elm', 'fir', 'hazel', 'larch', 'maple', 'oak', 'pine', 'rowan', 'yew'];
let turn = 0;

function forest(seed) {
    const trees = [];
    for (let i = 0, x = seed; i < 400; i++) {
        x = (Math.imul(x, 22695477) + 1) >>> 0;
        trees.push({ id: i, name: `${NAMES[x % 12]}-${x % 991}`, age: (x >>> 7) % 500, tags: [NAMES[(x >>> 9) % 12], NAMES[(x >>> 13) % 12]] });
    }
    return trees;
}

function survey(seed) {
    const trees = JSON.parse(JSON.stringify(forest(seed)));
    const kinds = new Map();
    for (const tree of trees) {
        const [, kind, number] = /^([a-z]+)-(\d+)$/.exec(tree.name);
        kinds.set(kind, (kinds.get(kind) ?? 0) + Number(number));
        tree.label = tree.tags.map((tag) => tag.toUpperCase()).join('+').replaceAll('A', '4');
    }
    trees.sort((a, b) => a.age - b.age || a.id - b.id);
    return { kinds: [...kinds].sort((a, b) => b[1] - a[1]), oldest: trees.slice(-5), bytes: JSON.stringify(trees).length };
}

export default {
    async fetch() {
        return Response.json(survey(++turn % 64));
    },
};
