import * as first from './cycle_a.js';
export const b = 'b';
let value;
try {
    value = first.a;
} catch {
    value = 'undefined yet';
}
export const seen = value;
