// node/parse_args.js: util.parseArgs.
import { err, validateArray, validateBoolean, validateObject, validateOneOf, validateString } from './errors.js';

const invalid = (text) => err.ERR_PARSE_ARGS_INVALID_OPTION_VALUE(text);

function checkOptions(options) {
    for (const [name, o] of Object.entries(options)) {
        validateObject(o, `options.${name}`);
        validateOneOf(o.type, `options.${name}.type`, ['string', 'boolean']);
        if (o.short !== undefined) {
            validateString(o.short, `options.${name}.short`);
            if (o.short.length !== 1) throw err.ERR_INVALID_ARG_VALUE(`options.${name}.short`, o.short, 'must be a single character');
        }
        const { multiple = false, default: value } = o;
        validateBoolean(multiple, `options.${name}.multiple`);
        if (value === undefined) continue;
        const what = `options.${name}.default`;
        const check = o.type === 'string' ? validateString : validateBoolean;
        if (multiple) {
            validateArray(value, what);
            value.forEach((v, i) => check(v, `${what}[${i}]`));
        } else {
            check(value, what);
        }
    }
}

// The arguments as tokens, whatever options allow.
function tokenize(args, options) {
    const tokens = [];
    const byShort = new Map();
    for (const [name, o] of Object.entries(options)) if (o.short !== undefined) byShort.set(o.short, name);
    const typeOf = (name) => (Object.hasOwn(options, name) ? options[name].type : undefined);
    const isValue = (arg) => arg !== undefined;
    let group = 0; // how many of the next entries came out of one argument, "-abc"
    const queue = args.map((arg) => arg);
    let index = -1;
    while (queue.length > 0) {
        const arg = queue.shift();
        if (group > 0) group--;
        else index++;
        if (arg === '--') {
            tokens.push({ kind: 'option-terminator', index });
            for (const rest of queue) tokens.push({ kind: 'positional', index: ++index, value: rest });
            return tokens;
        }
        if (/^-[^-]$/.test(arg)) {
            const name = byShort.get(arg[1]) ?? arg[1];
            let value;
            let inlineValue;
            if (typeOf(name) === 'string' && isValue(queue[0])) {
                value = queue.shift();
                inlineValue = false;
            }
            tokens.push({ kind: 'option', name, rawName: arg, index, value, inlineValue });
            if (value !== undefined) index++;
        } else if (/^-[^-]/.test(arg)) {
            const name = byShort.get(arg[1]) ?? arg[1];
            if (typeOf(name) === 'string') {
                tokens.push({ kind: 'option', name, rawName: arg.slice(0, 2), index, value: arg.slice(2), inlineValue: true });
                continue;
            }
            const parts = [];
            for (let i = 1; i < arg.length; i++) {
                const letter = byShort.get(arg[i]) ?? arg[i];
                if (typeOf(letter) !== 'string' || i === arg.length - 1) {
                    parts.push(`-${arg[i]}`);
                } else {
                    parts.push(`-${arg.slice(i)}`);
                    break;
                }
            }
            queue.unshift(...parts);
            group = parts.length;
        } else if (/^--[^=]+=/.test(arg) || arg.startsWith('--=')) {
            const at = arg.indexOf('=', 3);
            const name = at === -1 ? arg.slice(2) : arg.slice(2, at);
            tokens.push({ kind: 'option', name, rawName: `--${name}`, index, value: at === -1 ? undefined : arg.slice(at + 1), inlineValue: at === -1 ? undefined : true });
        } else if (arg.startsWith('--')) {
            const name = arg.slice(2);
            let value;
            let inlineValue;
            if (typeOf(name) === 'string' && isValue(queue[0])) {
                value = queue.shift();
                inlineValue = false;
            }
            tokens.push({ kind: 'option', name, rawName: arg, index, value, inlineValue });
            if (value !== undefined) index++;
        } else {
            tokens.push({ kind: 'positional', index, value: arg });
        }
    }
    return tokens;
}

function checkToken(token, options, { strict, allowPositionals, allowNegative }) {
    if (!strict) return;
    let { name } = token;
    if (!Object.hasOwn(options, name)) {
        if (allowNegative && name.startsWith('no-') && Object.hasOwn(options, name.slice(3)) && options[name.slice(3)].type === 'boolean') name = name.slice(3);
        else throw err.ERR_PARSE_ARGS_UNKNOWN_OPTION(token.rawName, allowPositionals);
    }
    const { short, type } = options[name];
    const label = short ? `-${short}, --${name}` : `--${name}`;
    if (type === 'string' && typeof token.value !== 'string') throw invalid(`Option '${label} <value>' argument missing`);
    if (type === 'boolean' && token.value !== undefined && token.value !== null) throw invalid(`Option '${label}' does not take an argument`);
    if (token.inlineValue === false && token.value !== undefined && token.value.length > 1 && token.value.startsWith('-')) {
        const example = token.rawName.startsWith('--') ? `'${token.rawName}=-XYZ'` : `'--${name}=-XYZ' or '${token.rawName}-XYZ'`;
        throw invalid(`Option '${token.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${token.rawName}'?\nTo specify an option argument starting with a dash use ${example}.`);
    }
}

export function parseArgs(config = {}) {
    validateObject(config, 'config');
    const args = config.args ?? globalThis.process?.argv?.slice(2) ?? [];
    const { strict = true, options = { __proto__: null }, tokens: wantTokens = false, allowNegative = false } = config;
    const { allowPositionals = !strict } = config;
    validateArray(args, 'args');
    validateBoolean(strict, 'strict');
    validateBoolean(allowPositionals, 'allowPositionals');
    validateBoolean(wantTokens, 'tokens');
    validateBoolean(allowNegative, 'allowNegative');
    validateObject(options, 'options');
    checkOptions(options);
    const tokens = tokenize(args, options);
    const values = { __proto__: null };
    const positionals = [];
    for (const token of tokens) {
        if (token.kind === 'positional') {
            if (!allowPositionals) throw err.ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL(token.value);
            positionals.push(token.value);
        } else if (token.kind === 'option') {
            checkToken(token, options, { strict, allowPositionals, allowNegative });
            let { name } = token;
            let value = token.value ?? true;
            if (allowNegative && token.value === undefined && name.startsWith('no-') && !Object.hasOwn(options, name)) {
                name = name.slice(3);
                value = false;
            }
            if (name === '__proto__') continue;
            if (Object.hasOwn(options, name) && options[name].multiple) (values[name] ??= []).push(value);
            else values[name] = value;
        }
    }
    for (const [name, o] of Object.entries(options)) {
        if (o.default !== undefined && !Object.hasOwn(values, name)) values[name] = o.default;
    }
    return wantTokens ? { values, positionals, tokens } : { values, positionals };
}
