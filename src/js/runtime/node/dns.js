// node/dns.js: node:dns and node:dns/promises: names are resolved by fetch and connect, not by Workers; what is here is what needs no network.
import { err, notImplemented, validateArray } from './errors.js';
import { stub } from './stubs.js';

const resolvers = 'resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse';

function make(module) {
    class Resolver {
        #servers = [];
        cancel() {}
        getServers() {
            return [...this.#servers];
        }
        setServers(servers) {
            validateArray(servers, 'servers');
            for (const s of servers) if (typeof s !== 'string') throw err.ERR_INVALID_ARG_TYPE('servers', 'string', s);
            this.#servers = [...servers];
        }
        setLocalAddress() {
            throw err.ERR_METHOD_NOT_IMPLEMENTED(`${module}.Resolver.setLocalAddress`);
        }
    }
    for (const name of resolvers.split(' ')) Resolver.prototype[name] = notImplemented(`${module}.Resolver.${name}`);
    Object.defineProperty(Resolver, 'name', { value: 'Resolver', configurable: true });
    const own = new Resolver();
    return { ...stub(module), Resolver, getServers: () => own.getServers(), setServers: (servers) => own.setServers(servers) };
}

export const promises = make('dns/promises');
export const dns = { ...make('dns'), promises };
