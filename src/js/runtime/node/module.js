// node/module.js: node:module: createRequire for the modules that celld brings.
import { nodeModule, nodeModuleNames } from '../builtin.js';
import { err, notImplemented, validateString } from './errors.js';

const PREFIX_ONLY = ['test', 'sqlite', 'sea', 'test/reporters'];
export const builtinModules = nodeModuleNames()
    .map((name) => name.slice(5))
    .filter((name) => !PREFIX_ONLY.includes(name))
    .sort();

export function isBuiltin(name) {
    return typeof name === 'string' && nodeModuleNames().includes(name.startsWith('node:') ? name : PREFIX_ONLY.includes(name) ? '' : `node:${name}`);
}

export function createRequire(path) {
    const bad = () =>
        err.ERR_INVALID_ARG_VALUE('filename', path, 'must be a file URL object, file URL string, or absolute path string');
    const text = path instanceof globalThis.URL ? path.href : path;
    if (typeof text !== 'string') throw bad();
    if (!text.startsWith('/') && !text.startsWith('file:')) throw bad();
    function require(id) {
        validateString(id, 'id');
        if (id === '') throw err.ERR_INVALID_ARG_VALUE('id', id, 'must be a non-empty string');
        const exports = nodeModule(id);
        if (exports === undefined) throw id.startsWith('node:') ? err.ERR_UNKNOWN_BUILTIN_MODULE(id) : err.MODULE_NOT_FOUND(id);
        return exports;
    }
    require.resolve = (id) => {
        validateString(id, 'id');
        if (isBuiltin(id)) return id;
        throw err.MODULE_NOT_FOUND(id);
    };
    require.resolve.paths = () => null;
    require.cache = { __proto__: null };
    require.extensions = { __proto__: null };
    require.main = undefined;
    return require;
}

export function Module(id = '', parent = undefined) {
    this.id = id;
    this.path = '/bundle';
    this.exports = {};
    this.parent = parent;
    this.filename = null;
    this.loaded = false;
    this.children = [];
}
Object.assign(Module, {
    Module,
    builtinModules,
    constants: { compileCacheStatus: { __proto__: null, FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 } },
    createRequire,
    isBuiltin,
    findPackageJSON: notImplemented('module.findPackageJSON'),
    findSourceMap: () => undefined,
    SourceMap: notImplemented('module.SourceMap'),
    register: notImplemented('module.register'),
    registerHooks: notImplemented('module.registerHooks'),
    runMain: notImplemented('module.runMain'),
    syncBuiltinESMExports() {},
    enableCompileCache: notImplemented('module.enableCompileCache'),
    flushCompileCache: notImplemented('module.flushCompileCache'),
    getCompileCacheDir: () => undefined,
    stripTypeScriptTypes: notImplemented('module.stripTypeScriptTypes'),
    globalPaths: [],
    wrap: (script) => `(function (exports, require, module, __filename, __dirname) { ${script}\n});`,
    wrapper: ['(function (exports, require, module, __filename, __dirname) { ', '\n});'],
    _cache: { __proto__: null },
    _extensions: { __proto__: null },
    _pathCache: { __proto__: null },
    _load: notImplemented('module._load'),
    _resolveFilename: notImplemented('module._resolveFilename'),
    _nodeModulePaths: () => [],
    _debug() {},
    _findPath: () => false,
    _resolveLookupPaths: () => null,
    _initPaths() {},
    _preloadModules() {},
    getSourceMapsSupport: () => ({ __proto__: null, enabled: false, nodeModules: false, generatedCode: false }),
    setSourceMapsSupport() {},
});
Module.prototype.load = notImplemented('module.Module.load');
Module.prototype.require = createRequire('/bundle/index.js');
Module.prototype._compile = notImplemented('module.Module._compile');
export default Module;
