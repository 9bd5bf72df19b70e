// abort.js: AbortController and AbortSignal. runtime.md 5.6.
import { expose } from './core.js';

export class AbortSignal {}
export class AbortController {
    signal = new AbortSignal();
}
expose({ AbortSignal, AbortController });
