// node/punycode.js: node:punycode is the package of that name, by Node's own author of it.
import punycode from 'punycode/';

export default { ...punycode };
