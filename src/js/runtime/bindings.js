// bindings.js: env. runtime.md 4; config.md 5.
let bindings = {};

export const env = () => bindings;

const makers = {
    plain_text: (b) => b.text,
    json: (b) => JSON.parse(b.text),
};

export function makeBindings(config) {
    for (const b of config.bindings) {
        const make = makers[b.type];
        if (make === undefined) throw new Error(`Binding "${b.name}": the type ${b.type} is not available in this version of celld.`);
        bindings[b.name] = make(b, config);
    }
}
export const bindingType = (type, make) => (makers[type] = make);
