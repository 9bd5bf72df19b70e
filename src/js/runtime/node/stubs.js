// node/stubs.js: modules of Node that are not there: their names are, so that bundles load; a call or a construction throws.
// runtime.md 3.5.
import { http } from './http_constants.js';
import { err, nodeError, notImplemented, validateFunction } from './errors.js';

// module -> its functions and classes
const NAMES = {
    child_process: '_forkChild ChildProcess exec execFile execFileSync execSync fork spawn spawnSync',
    dgram: '_createSocketHandle createSocket Socket',
    domain: 'Domain createDomain create',
    http2:
        'connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings ' +
        'performServerHandshake Http2ServerRequest Http2ServerResponse',
    inspector: 'open close url waitForDebugger Session',
    'inspector/promises': 'open close url waitForDebugger Session',
    trace_events: 'createTracing getEnabledCategories',
    v8:
        'cachedDataVersionTag getHeapSnapshot getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics ' +
        'setFlagsFromString Serializer Deserializer DefaultSerializer DefaultDeserializer deserialize takeCoverage ' +
        'stopCoverage serialize writeHeapSnapshot queryObjects setHeapSnapshotNearHeapLimit GCProfiler ' +
        'isStringOneByteRepresentation',
    vm:
        'Script createContext createScript runInContext runInNewContext runInThisContext isContext compileFunction ' +
        'measureMemory',
    wasi: 'WASI',
    _http_agent: 'Agent',
    _http_client: 'ClientRequest',
    _http_common: '_checkInvalidHeaderChar _checkIsHttpToken freeParser HTTPParser isLenient prepareError',
    _http_incoming: 'IncomingMessage readStart readStop',
    _http_outgoing: 'parseUniqueHeadersOption validateHeaderName validateHeaderValue OutgoingMessage',
    _http_server: 'Server ServerResponse setupConnectionsTracking storeHTTPOptions _connectionListener httpServerPreClose',
    _tls_common: 'SecureContext createSecureContext translatePeerCertificate',
    _tls_wrap: 'TLSSocket Server createServer connect',
    http:
        '_connectionListener Agent ClientRequest IncomingMessage OutgoingMessage Server ServerResponse createServer ' +
        'validateHeaderName validateHeaderValue get request setMaxIdleHTTPParsers',
    https: 'Agent Server createServer get request',
    net:
        '_createServerHandle _normalizeArgs _setSimultaneousAccepts BlockList SocketAddress connect createConnection ' +
        'createServer isIP isIPv4 isIPv6 Server Socket Stream getDefaultAutoSelectFamily setDefaultAutoSelectFamily ' +
        'getDefaultAutoSelectFamilyAttemptTimeout setDefaultAutoSelectFamilyAttemptTimeout',
    dns:
        'lookup lookupService Resolver getDefaultResultOrder setDefaultResultOrder setServers getServers resolve resolve4 ' +
        'resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv ' +
        'resolveTxt reverse',
    'dns/promises':
        'lookup lookupService Resolver getDefaultResultOrder setDefaultResultOrder setServers getServers resolve resolve4 ' +
        'resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv ' +
        'resolveTxt reverse',
    tls:
        'getCiphers convertALPNProtocols checkServerIdentity createSecureContext SecureContext TLSSocket Server createServer ' +
        'connect createSecurePair',
    sqlite: 'DatabaseSync StatementSync backup',
};

const DNS = {};
for (const name of 'NODATA FORMERR SERVFAIL NOTFOUND NOTIMP REFUSED BADQUERY BADNAME BADFAMILY BADRESP CONNREFUSED TIMEOUT EOF FILE NOMEM DESTRUCTION BADSTR BADFLAGS NONAME BADHINTS NOTINITIALIZED LOADIPHLPAPI ADDRGETNETWORKPARAMS CANCELLED'.split(' ')) {
    DNS[name] = `E${name}`;
}
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const isIPv4 = (text) => IPV4.test(`${text}`);
function isIPv6(text) {
    text = `${text}`;
    const zone = text.indexOf('%');
    if (zone === 0 || zone === text.length - 1) return false;
    if (zone !== -1) text = text.slice(0, zone);
    return text.includes(':') && host.url_parse(`http://[${text}]/`, undefined) !== undefined;
}

// The wrong options are wrong whether or not there is a connection to make.
function tlsOptions(path, options) {
    const check = options?.checkServerIdentity;
    if (check !== undefined) {
        validateFunction(check, 'options.checkServerIdentity');
        throw nodeError(Error, 'ERR_OPTION_NOT_IMPLEMENTED', 'The options.checkServerIdentity option is not implemented');
    }
    throw err.ERR_METHOD_NOT_IMPLEMENTED(path);
}

// What is no function, and the few functions that have an answer here.
const VALUES = {
    dns: () => ({ ...DNS, ADDRCONFIG: 1024, ALL: 256, V4MAPPED: 2048 }),
    'dns/promises': () => ({ ...DNS }),
    domain: () => ({ _stack: [], active: null }),
    http: () => ({ METHODS: http.METHODS, STATUS_CODES: http.STATUS_CODES, maxHeaderSize: 16384, globalAgent: {} }),
    _http_common: () => ({ methods: http.METHODS, CRLF: '\r\n', chunkExpression: /(?:^|\W)chunked(?:$|\W)/i, continueExpression: /(?:^|\W)100-continue(?:$|\W)/i }),
    _http_server: () => ({ STATUS_CODES: http.STATUS_CODES }),
    _http_agent: () => ({ globalAgent: {} }),
    https: () => ({ globalAgent: {} }),
    http2: () => ({ constants: http.HTTP2, sensitiveHeaders: Symbol('nodejs.http2.sensitiveHeaders') }),
    inspector: () => ({ console: globalThis.console, Network: {}, url: () => undefined }),
    'inspector/promises': () => ({ console: globalThis.console, Network: {}, url: () => undefined }),
    net: () => ({ isIP: (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0), isIPv4, isIPv6 }),
    sqlite: () => ({ constants: {} }),
    tls: () => ({
        CLIENT_RENEG_LIMIT: 3, CLIENT_RENEG_WINDOW: 600, DEFAULT_CIPHERS: '', DEFAULT_ECDH_CURVE: 'auto', DEFAULT_MIN_VERSION: 'TLSv1.2',
        DEFAULT_MAX_VERSION: 'TLSv1.3', rootCertificates: [],
        connect: (...args) => tlsOptions('tls.connect', args.find((a) => typeof a === 'object' && a !== null)),
        TLSSocket: function TLSSocket(socket, options) {
            tlsOptions('tls.TLSSocket', options);
        },
    }),
    v8: () => ({ promiseHooks: {}, startupSnapshot: { isBuildingSnapshot: () => false } }),
    vm: () => ({ constants: {} }),
};

// A class that exists by name; it may be extended.
function missingClass(path) {
    const name = path.slice(path.lastIndexOf('.') + 1);
    return {
        [name]: function () {
            throw err.ERR_METHOD_NOT_IMPLEMENTED(path);
        },
    }[name];
}

const made = new Map();
export const stubNames = [...new Set([...Object.keys(NAMES), ...Object.keys(VALUES)])];
export function stub(module) {
    let exports = made.get(module);
    if (exports !== undefined) return exports;
    exports = {};
    made.set(module, exports);
    for (const name of (NAMES[module] ?? '').split(' ').filter(Boolean)) {
        const path = `${module}.${name}`;
        exports[name] = /^[A-Z]/.test(name) ? missingClass(path) : notImplemented(path);
    }
    return Object.assign(exports, VALUES[module]?.());
}
