// formdata.js: FormData and its two encodings. runtime.md 5.1.
import { absent, expose } from './core.js';

export class FormData {
    constructor() {
        throw absent('FormData');
    }
}
export function formDataToBody() {
    throw absent('FormData');
}
export function formDataOf() {
    throw absent('FormData');
}
expose({ FormData });
