// main.js: the prelude. What it exports is what C calls (../worker.c); what it gives to user code is on globalThis.
import { DOMException, reportRejection } from './events.js';
import './abort.js';
import './console.js';
import './crypto.js';
import './timers.js';
import './fetch.js';
import './url.js';
import './urlpattern.js';
import { refuseClones } from './messaging.js';
import './performance.js';
import './caches.js';
import './eventsource.js';
import './sockets.js';
import './htmlrewriter.js';
import './clone.js';
import './compression.js';
import './encoding_streams.js';
import './base64.js';
import { socketEvent } from './websocket.js';
import { complete, expose, fireTimer } from './core.js';
import { Body } from './body.js';
import { Headers } from './headers.js';
import { Request, Response } from './http.js';
import './fetch.js';
import './node/index.js';
import { builtinModule } from './builtin.js';
import { fetch, gone, hung, load, run, setup, sweep } from './worker.js';
import { call } from './service_remote.js';
import { cellAlarm, cellSocket, cellStart, cellStop } from './cells.js';
import { newStorage } from './storage.js';
import './storage_cell.js';
import { wireMessage } from './wire_session.js';
import './wire_cell.js';
import { RpcTarget } from './rpc_target.js';
import { fillGaps } from './globals.js';
import { replaceArrayMethods } from './arrays.js';
import { Map, WeakSet } from './primordials.js';

expose({ Body, Headers, Request, Response });
fillGaps();
replaceArrayMethods();
refuseClones(RpcTarget);
for (const name of ['self', 'global']) {
    Object.defineProperty(globalThis, name, { value: globalThis, writable: true, configurable: true, enumerable: true });
}

// [unhandled?, promise, reason, ...] since the last look. runtime.md 2.11.
function rejections(list) {
    const open = new Map(); // promise -> reason: rejected in this turn, and nobody came
    for (let i = 0; i < list.length; i += 3) {
        if (list[i]) open.set(list[i + 1], list[i + 2]);
        else if (!open.delete(list[i + 1]) && told.delete(list[i + 1])) reportRejection(true, list[i + 1], undefined);
    }
    open.forEach((reason, promise) => {
        told.add(promise);
        reportRejection(false, promise, reason);
    });
}
const told = new WeakSet(); // promises whose rejection was reported

export default { setup, builtin: builtinModule, load, complete, timer: fireTimer, fetch, run, gone, rejections, sweep, socket: socketEvent, call, newStorage, cellStart, cellStop, cellAlarm, wire: wireMessage, cellSocket, hung, DOMException };
