// node/path.js: node:path, posix and win32.
import { validateObject, validateString } from './errors.js';

const CWD = '/'; // Of paths, as in workerd; that of process and node:fs is /bundle.
const isSlash = (c) => c === '/' || c === '\\';
const isLetter = (c) => /^[a-zA-Z]$/.test(c ?? '');

// The pieces of a path without "." and "..", joined by sep. climb: ".." above the beginning stay.
function normalizePieces(pieces, climb, sep) {
    const out = [];
    for (const piece of pieces) {
        if (piece === '' || piece === '.') continue;
        if (piece !== '..') out.push(piece);
        else if (out.length > 0 && out[out.length - 1] !== '..') out.pop();
        else if (climb) out.push('..');
    }
    return out.join(sep);
}

function format(sep, object) {
    validateObject(object, 'pathObject');
    const dir = object.dir || object.root;
    const ext = object.ext ? `${object.ext[0] === '.' ? '' : '.'}${object.ext}` : '';
    const base = object.base || `${object.name || ''}${ext}`;
    if (!dir) return base;
    return dir === object.root ? `${dir}${base}` : `${dir}${sep}${base}`;
}

// Of the part behind the last separator. start: where names begin (behind a root).
function nameRange(path, start, slash) {
    let end = path.length;
    while (end > start && slash(path[end - 1])) end--;
    let begin = end;
    while (begin > start && !slash(path[begin - 1])) begin--;
    return [begin, end];
}

function baseOf(path, suffix, start, slash) {
    validateString(path, 'path');
    if (suffix !== undefined) validateString(suffix, 'suffix');
    const [begin, end] = nameRange(path, start, slash);
    const base = path.slice(begin, end);
    if (base === '' && suffix && suffix.length <= path.length) return path.slice(start);
    if (suffix !== undefined && suffix !== '' && base.endsWith(suffix)) {
        // A path that is nothing but the suffix keeps it only when a folder is before it.
        if (base !== suffix) return base.slice(0, -suffix.length);
        return suffix.length === path.length ? '' : base;
    }
    return base;
}

function extOf(path, start, slash) {
    const [begin, end] = nameRange(path, start, slash);
    const base = path.slice(begin, end);
    const dot = base.lastIndexOf('.');
    return dot <= 0 || base === '..' ? '' : base.slice(dot);
}

const checkAll = (paths) => paths.forEach((p, i) => validateString(p, `paths[${i}]`));

// Patterns of path.matchesGlob: *, **, ?, [...], {a,b}.
function globToRegExp(pattern, sep) {
    const s = sep === '\\' ? '[\\\\/]' : '/';
    const not = sep === '\\' ? '[^\\\\/]' : '[^/]';
    let out = '';
    let braces = 0;
    for (let i = 0; i < pattern.length; i++) {
        const c = pattern[i];
        if (c === '*') {
            if (pattern[i + 1] === '*') {
                i++;
                if (pattern[i + 1] === '/') {
                    i++;
                    out += `(?:.*${s})?`;
                } else {
                    out += '.*';
                }
            } else {
                out += `${not}*`;
            }
        } else if (c === '?') out += not;
        else if (c === '[') {
            const end = pattern.indexOf(']', i + 2);
            if (end === -1) out += '\\[';
            else {
                out += `[${pattern.slice(i + 1, end).replace(/^!/, '^').replaceAll('\\', '\\\\')}]`;
                i = end;
            }
        } else if (c === '{') {
            braces++;
            out += '(?:';
        } else if (c === '}' && braces > 0) {
            braces--;
            out += ')';
        } else if (c === ',' && braces > 0) out += '|';
        else if (c === '/' || (c === '\\' && sep === '\\')) out += s;
        else out += c.replace(/[\\^$.|+()]/g, '\\$&');
    }
    return new RegExp(`^${out}$`, 's');
}
function matchesGlob(path, pattern, sep) {
    validateString(path, 'path');
    validateString(pattern, 'pattern');
    return globToRegExp(pattern, sep).test(path);
}

const onlySlash = (c) => c === '/';

export const posix = {
    resolve(...paths) {
        checkAll(paths);
        let full = '';
        for (let i = paths.length - 1; i >= 0 && !full.startsWith('/'); i--) if (paths[i] !== '') full = full === '' ? paths[i] : `${paths[i]}/${full}`;
        if (!full.startsWith('/')) full = `${posixCwd()}/${full}`;
        return `/${normalizePieces(full.split('/'), false, '/')}`;
    },
    normalize(path) {
        validateString(path, 'path');
        if (path === '') return '.';
        const absolute = path.startsWith('/');
        let out = normalizePieces(path.split('/'), !absolute, '/');
        if (out === '') {
            if (absolute) return '/';
            return path.endsWith('/') ? './' : '.';
        }
        if (path.endsWith('/')) out += '/';
        return absolute ? `/${out}` : out;
    },
    isAbsolute(path) {
        validateString(path, 'path');
        return path.startsWith('/');
    },
    join(...paths) {
        paths.forEach((p) => validateString(p, 'path'));
        const joined = paths.filter((p) => p !== '').join('/');
        return joined === '' ? '.' : posix.normalize(joined);
    },
    relative(from, to) {
        validateString(from, 'from');
        validateString(to, 'to');
        if (from === to) return '';
        from = posix.resolve(from);
        to = posix.resolve(to);
        if (from === to) return '';
        const a = from.split('/').filter(Boolean);
        const b = to.split('/').filter(Boolean);
        let same = 0;
        while (same < a.length && same < b.length && a[same] === b[same]) same++;
        return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
    },
    toNamespacedPath: (path) => path,
    dirname(path) {
        validateString(path, 'path');
        if (path === '') return '.';
        const root = path.startsWith('/');
        const [begin] = nameRange(path, root ? 1 : 0, onlySlash);
        if (begin === 0) return '.';
        if (root && begin <= 2) return begin === 2 ? '//' : '/';
        return path.slice(0, begin - 1);
    },
    basename: (path, suffix) => baseOf(path, suffix, 0, onlySlash),
    extname(path) {
        validateString(path, 'path');
        return extOf(path, 0, onlySlash);
    },
    format: (object) => format('/', object),
    parse(path) {
        validateString(path, 'path');
        const root = path.startsWith('/') ? '/' : '';
        const [begin, end] = nameRange(path, root.length, onlySlash);
        const base = path.slice(begin, end);
        const ext = extOf(path, root.length, onlySlash);
        let dir = path.slice(0, begin);
        if (dir !== root && dir !== '') dir = dir.slice(0, -1);
        return { root, dir: base === '' && begin === root.length ? root : dir, base, ext, name: base.slice(0, base.length - ext.length) };
    },
    matchesGlob: (path, pattern) => matchesGlob(path, pattern, '/'),
    sep: '/',
    delimiter: ':',
    win32: null,
    posix: null,
};
const posixCwd = () => CWD;

// What a path of Windows begins with: the device ("C:", "\\server\share"), whether a root is behind it, and where names begin.
function windowsRoot(path) {
    const none = { device: '', absolute: false, end: 0, unc: false };
    if (path === '') return none;
    if (isSlash(path[0])) {
        const m = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
        if (m !== null && m[1] !== '.' && m[1] !== '?') {
            const at = m[0].length;
            return { device: `\\\\${m[1]}\\${m[2]}`, absolute: true, end: at, unc: true, whole: at === path.length };
        }
        if (m !== null) {
            return { device: `\\\\${m[1]}\\${m[2]}`, absolute: true, end: m[0].length, unc: true, whole: m[0].length === path.length };
        }
        return { device: '', absolute: true, end: 1, unc: false };
    }
    if (isLetter(path[0]) && path[1] === ':') {
        const absolute = path.length > 2 && isSlash(path[2]);
        return { device: path.slice(0, 2), absolute, end: absolute ? 3 : 2, unc: false };
    }
    return none;
}

const windowsPieces = (path) => path.split(/[\\/]/);

export const win32 = {
    resolve(...paths) {
        checkAll(paths);
        let device = '';
        let tail = '';
        let absolute = false;
        for (let i = paths.length - 1; i >= -1; i--) {
            let path;
            if (i >= 0) {
                path = paths[i];
                if (path === '') continue;
            } else if (device === '') {
                path = posixCwd();
            } else {
                path = globalThis.process?.env?.[`=${device}`] ?? posixCwd();
                const own = windowsRoot(path);
                if (own.device.toLowerCase() !== device.toLowerCase() && own.device !== '') path = `${device}\\`;
            }
            const root = windowsRoot(path);
            if (root.device !== '') {
                if (device !== '') {
                    if (root.device.toLowerCase() !== device.toLowerCase()) continue;
                } else {
                    device = root.device;
                }
            }
            if (absolute) {
                if (device !== '') break;
            } else {
                tail = `${path.slice(root.end)}\\${tail}`;
                absolute = root.absolute;
                if (absolute && device !== '') break;
            }
        }
        tail = normalizePieces(windowsPieces(tail), !absolute, '\\');
        return absolute ? `${device}\\${tail}` : `${device}${tail}` || '.';
    },
    normalize(path) {
        validateString(path, 'path');
        if (path === '') return '.';
        const root = windowsRoot(path);
        if (path.length === 1) return isSlash(path) ? '\\' : path;
        if (root.unc && root.whole) return `${root.device}\\`;
        let tail = normalizePieces(windowsPieces(path.slice(root.end)), !root.absolute, '\\');
        if (tail === '' && !root.absolute) tail = '.';
        if (tail !== '' && isSlash(path[path.length - 1])) tail += '\\';
        // A name with a colon must not become a drive.
        if (!root.absolute && root.device === '' && path.includes(':')) {
            if (isLetter(tail[0]) && tail[1] === ':') return `.\\${tail}`;
            let colon = path.indexOf(':');
            do {
                if (colon === path.length - 1 || isSlash(path[colon + 1])) return `.\\${tail}`;
            } while ((colon = path.indexOf(':', colon + 1)) !== -1);
        }
        if (root.device === '') return root.absolute ? `\\${tail}` : tail;
        return root.absolute ? `${root.device}\\${tail}` : `${root.device}${tail}`;
    },
    isAbsolute(path) {
        validateString(path, 'path');
        return path !== '' && (isSlash(path[0]) || (isLetter(path[0]) && path[1] === ':' && isSlash(path[2] ?? '')));
    },
    join(...paths) {
        paths.forEach((p) => validateString(p, 'path'));
        const parts = paths.filter((p) => p !== '');
        if (parts.length === 0) return '.';
        let joined = parts.join('\\');
        // Two slashes at the beginning make a network path only when the first part has them, and more than them.
        const first = parts[0];
        const wanted = /^[\\/]{2}[^\\/]/.test(first);
        if (!wanted) {
            const slashes = /^[\\/]*/.exec(joined)[0].length;
            if (slashes >= 2) joined = `\\${joined.slice(slashes)}`;
        }
        return win32.normalize(joined);
    },
    relative(from, to) {
        validateString(from, 'from');
        validateString(to, 'to');
        if (from === to) return '';
        const a = win32.resolve(from);
        const b = win32.resolve(to);
        if (a === b || a.toLowerCase() === b.toLowerCase()) return '';
        const x = a.split('\\').filter(Boolean);
        const y = b.split('\\').filter(Boolean);
        let same = 0;
        while (same < x.length && same < y.length && x[same].toLowerCase() === y[same].toLowerCase()) same++;
        if (windowsRoot(a).device.toLowerCase() !== windowsRoot(b).device.toLowerCase()) return b;
        return [...x.slice(same).map(() => '..'), ...y.slice(same)].join('\\');
    },
    toNamespacedPath(path) {
        if (typeof path !== 'string' || path === '') return path;
        const full = win32.resolve(path);
        if (full.length <= 2) return path;
        if (full.startsWith('\\\\') && full[2] !== '?' && full[2] !== '.') return `\\\\?\\UNC\\${full.slice(2)}`;
        if (isLetter(full[0]) && full[1] === ':' && full[2] === '\\') return `\\\\?\\${full}`;
        return full;
    },
    dirname(path) {
        validateString(path, 'path');
        if (path === '') return '.';
        const root = windowsRoot(path);
        if (path.length === 1) return isSlash(path) ? path : '.';
        if (root.unc && root.whole) return path;
        const start = root.unc && path.length > root.end ? root.end + 1 : root.end;
        let [end] = nameRange(path, start, isSlash);
        while (end > start && isSlash(path[end - 1])) end--;
        if (end > start) return path.slice(0, end);
        return start === 0 ? '.' : path.slice(0, start);
    },
    basename: (path, suffix) => baseOf(path, suffix, typeof path === 'string' && isLetter(path[0]) && path[1] === ':' ? 2 : 0, isSlash),
    extname(path) {
        validateString(path, 'path');
        return extOf(path, isLetter(path[0]) && path[1] === ':' ? 2 : 0, isSlash);
    },
    format: (object) => format('\\', object),
    parse(path) {
        validateString(path, 'path');
        if (path === '') return { root: '', dir: '', base: '', ext: '', name: '' };
        const r = windowsRoot(path);
        const start = r.unc && path.length > r.end ? r.end + 1 : r.end;
        const root = path.slice(0, start);
        const [begin, end] = nameRange(path, start, isSlash);
        const base = path.slice(begin, end);
        const ext = extOf(base, 0, isSlash);
        let dir = path.slice(0, begin);
        if (begin > start) dir = dir.slice(0, -1);
        return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) };
    },
    matchesGlob: (path, pattern) => matchesGlob(path, pattern, '\\'),
    sep: '\\',
    delimiter: ';',
    win32: null,
    posix: null,
};
posix.win32 = win32.win32 = win32;
posix.posix = win32.posix = posix;
// The old name of toNamespacedPath.
posix._makeLong = posix.toNamespacedPath;
win32._makeLong = win32.toNamespacedPath;

export default posix;
