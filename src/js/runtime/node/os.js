// node/os.js: node:os. A Worker sees no machine: what would tell of one is empty or fixed.
import { dlopen, errno, priority, signals } from './constants.js';
import { validateInt32 } from './errors.js';

const constants = { UV_UDP_REUSEADDR: 4, dlopen, errno, priority, signals };
const fixed = (name, value) => {
    const fn = { [name]: () => value }[name];
    fn[Symbol.toPrimitive] = () => value;
    return fn;
};

export default {
    arch: fixed('arch', 'x64'),
    availableParallelism: fixed('availableParallelism', 1),
    constants,
    cpus: () => [],
    devNull: '/dev/null',
    endianness: fixed('endianness', 'LE'),
    EOL: '\n',
    freemem: fixed('freemem', 0),
    getPriority(pid = 0) {
        validateInt32(pid, 'pid');
        return 0;
    },
    homedir: fixed('homedir', '/tmp'),
    hostname: fixed('hostname', 'localhost'),
    loadavg: () => [0, 0, 0],
    machine: fixed('machine', 'x86_64'),
    networkInterfaces: () => ({}),
    platform: fixed('platform', 'linux'),
    release: fixed('release', ''),
    setPriority(pid, value) {
        if (value === undefined) [value, pid] = [pid, 0];
        validateInt32(pid, 'pid');
        validateInt32(value, 'priority', -20, 19);
    },
    tmpdir: fixed('tmpdir', '/tmp'),
    totalmem: fixed('totalmem', 0),
    type: fixed('type', 'Linux'),
    uptime: fixed('uptime', 0),
    userInfo: () => ({ uid: -1, gid: -1, username: '', homedir: '/tmp', shell: null }),
    version: fixed('version', ''),
};
