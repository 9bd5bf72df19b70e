// bindings.js: env. runtime.md 4; config.md 5.
import { newNamespace } from './durable.js';
import { newFetcher } from './service.js';
import { LoopbackChannel } from './service_local.js';
import { RemoteChannel } from './service_remote.js';

const { site_has } = host;

let bindings = {};
const checks = []; // What can be said only once the bundle is evaluated.

export const env = () => bindings;

let script;
export const scriptName = () => script;

const makers = {
    plain_text: (b) => b.text,
    json: (b) => JSON.parse(b.text),
    // Its class may be of another script, which is not asked: then it shows when a cell starts.
    durable_object(b, config) {
        const owner = b.script || config.script;
        if (owner === config.script) {
            checks.push((find, findClass) => {
                if (findClass(b.class) === undefined) throw new TypeError(`Binding "${b.name}": "${owner}" exports no class "${b.class}" for Durable Objects.`);
            });
        }
        return newNamespace(owner, b.class);
    },
    service(b, config) {
        const entrypoint = b.entrypoint || 'default';
        if (b.service !== config.script) {
            if (!site_has(b.service)) throw new Error(`Binding "${b.name}": there is no service "${b.service}" beside "${config.script}".`);
            return newFetcher(new RemoteChannel(b.service, entrypoint));
        }
        checks.push((find) => {
            try {
                find(entrypoint);
            } catch (error) {
                throw new TypeError(`Binding "${b.name}" to the service "${b.service}": ${error.message}`);
            }
        });
        return newFetcher(new LoopbackChannel(entrypoint, b.props));
    },
};

export function makeBindings(config) {
    script = config.script;
    for (const b of config.bindings) {
        const make = makers[b.type];
        if (make === undefined) throw new Error(`Binding "${b.name}": the type ${b.type} is not available in this version of celld.`);
        bindings[b.name] = make(b, config);
    }
}
// find(name): the entrypoint of this script; throws when there is none. findClass(name): the class of a cell, or undefined.
export function checkBindings(find, findClass) {
    for (const check of checks) check(find, findClass);
}
export const bindingType = (type, make) => (makers[type] = make);
