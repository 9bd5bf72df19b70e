// clone.js: structuredClone. runtime.md 5.3.
import { expose } from './core.js';
import { platformClone } from './messaging.js';

const { clone } = host;

const functions = {
    structuredClone(value, options = undefined) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'structuredClone': 1 argument required, but only 0 present.");
        let transfer;
        if (options !== undefined && options !== null) {
            if (typeof options !== 'object' && typeof options !== 'function') throw new TypeError("Failed to execute 'structuredClone': the options are not an object.");
            transfer = options.transfer;
            if (transfer !== undefined) {
                if (typeof transfer !== 'object' || transfer === null || typeof transfer[Symbol.iterator] !== 'function') throw new TypeError("Failed to execute 'structuredClone': 'transfer' is not a sequence.");
                transfer = [...transfer];
            }
        }
        return platformClone(value) ?? clone(value, transfer);
    },
};
expose(functions);
