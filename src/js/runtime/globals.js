// globals.js: what else is on globalThis: navigator, origin, Cloudflare, and names that exist so that bundles load. runtime.md 5, 7.
//
// The last of the prelude's modules: what it finds missing is absent.
import { absent, absentClass, absentFunction, expose, needContext } from './core.js';
import { illegalClass } from './events.js';

const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });

// ---- Compatibility switches

// Those of the published list that celld follows whatever the project's date says.
const ALWAYS = [
    'allow_custom_ports', 'brotli_content_encoding', 'capture_async_api_throws', 'enable_ctx_exports', 'enable_request_signal', 'enable_weak_ref',
    'expose_global_message_channel', 'fetch_refuses_unknown_protocols', 'formdata_parser_supports_files', 'global_navigator', 'http_headers_getsetcookie', 'nodejs_compat',
    'nodejs_compat_v2', 'set_tostring_tag', 'streams_byob_reader_detaches_buffer', 'streams_enable_constructors', 'strip_authorization_on_cross_origin_redirect',
    'transformstream_enable_standard_constructor', 'upper_case_all_http_methods', 'url_standard', 'urlpattern_standard', 'urlsearchparams_delete_has_value_arg',
];
const Cloudflare = { compatibilityFlags: Object.freeze(Object.create(null)) };
const on = new Set();

// Whether a switch is on; only after setup.
export const compatibility = (name) => on.has(name);

// names: the honoured switches that are on.
export function setCompatibility(names) {
    for (const name of [...ALWAYS, ...names]) on.add(name);
    const flags = Object.create(null);
    for (const name of [...on].sort()) flags[name] = true;
    Cloudflare.compatibilityFlags = Object.freeze(flags);
}

// ---- navigator

const Navigator = illegalClass('Navigator');
const attributes = { userAgent: 'Cloudflare-Workers', hardwareConcurrency: 1, platform: 'Linux', language: 'en', languages: ['en'] };
for (const [name, value] of Object.entries(attributes)) Object.defineProperty(Navigator.prototype, name, { get: () => value, enumerable: true, configurable: true });
Navigator.prototype.sendBeacon = function sendBeacon(url, body = undefined) {
    if (arguments.length === 0) throw new TypeError("Failed to execute 'sendBeacon' on 'Navigator': 1 argument required, but only 0 present.");
    const context = needContext();
    context.waitUntil(globalThis.fetch(url, { method: 'POST', body }).then((response) => response.body?.cancel()));
    return true;
};

expose({ Navigator });
define('navigator', Object.create(Navigator.prototype));
define('origin', 'null');
define('Cloudflare', Cloudflare);
define('importScripts', () => {
    throw absent('importScripts()');
});

// ---- Names of the Workers API that are not there

const CLASSES = [
    'ByteLengthQueuingStrategy', 'CompressionStream', 'CountQueuingStrategy', 'Crypto', 'CryptoKey', 'DecompressionStream', 'EventSource', 'File', 'FixedLengthStream', 'FormData',
    'HTMLRewriter', 'IdentityTransformStream', 'ReadableByteStreamController', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableStreamDefaultController',
    'ReadableStreamDefaultReader', 'SubtleCrypto', 'TextDecoder', 'TextDecoderStream', 'TextEncoderStream', 'TransformStream', 'TransformStreamDefaultController', 'URLPattern',
    'WebSocket', 'WebSocketPair', 'WebSocketRequestResponsePair', 'WritableStream', 'WritableStreamDefaultController', 'WritableStreamDefaultWriter',
];
const FUNCTIONS = ['atob', 'btoa', 'fetch', 'structuredClone'];
export function fillGaps() {
    for (const name of CLASSES) if (!(name in globalThis)) expose({ [name]: absentClass(name) });
    for (const name of FUNCTIONS) if (!(name in globalThis)) define(name, absentFunction(`${name}()`));
}
