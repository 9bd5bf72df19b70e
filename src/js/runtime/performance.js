// performance.js: performance and its entries. runtime.md 2.8, 5.7; User Timing.
//
// The clock is the event's: it stands still in a turn, in milliseconds since 1970. Nothing measures resources, and observers are
// never called.
import { expose } from './core.js';
import { EventTarget, illegalClass } from './events.js';

const { clone } = host;
const MAKE = Object.freeze({});
const illegal = (make) => {
    if (make !== MAKE) throw new TypeError('Illegal constructor');
};
const needArguments = (count, given, what) => {
    if (given < count) throw new TypeError(`Failed to execute ${what}: ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};
const number = (v, what) => {
    const n = Number(v);
    if (!Number.isFinite(n)) throw new TypeError(`${what} is not a finite number.`);
    return n;
};
const time = (v, what) => {
    const n = number(v, what);
    if (n < 0) throw new TypeError(`${what} must not be negative.`);
    return n;
};
const detailOf = (options) => (options?.detail === undefined || options.detail === null ? null : clone(options.detail, undefined));

export class PerformanceEntry {
    #name;
    #type;
    #start;
    #duration;
    constructor(make, name, type, start, duration) {
        illegal(make);
        this.#name = name;
        this.#type = type;
        this.#start = start;
        this.#duration = duration;
    }
    get name() {
        return this.#name;
    }
    get entryType() {
        return this.#type;
    }
    get startTime() {
        return this.#start;
    }
    get duration() {
        return this.#duration;
    }
    toJSON() {
        return { name: this.#name, entryType: this.#type, startTime: this.#start, duration: this.#duration };
    }
}

export class PerformanceMark extends PerformanceEntry {
    #detail;
    constructor(name, options = undefined) {
        needArguments(1, arguments.length, "'PerformanceMark'");
        if (options !== undefined && options !== null && typeof options !== 'object' && typeof options !== 'function') throw new TypeError('The options of a mark are not an object.');
        super(MAKE, `${name}`, 'mark', options?.startTime === undefined ? Date.now() : time(options.startTime, 'startTime'), 0);
        this.#detail = detailOf(options);
    }
    get detail() {
        return this.#detail;
    }
    toJSON() {
        return { ...super.toJSON(), detail: this.#detail };
    }
}

export class PerformanceMeasure extends PerformanceEntry {
    #detail;
    constructor(make, name, start, duration, detail) {
        super(make, name, 'measure', start, duration);
        this.#detail = detail;
    }
    get detail() {
        return this.#detail;
    }
    toJSON() {
        return { ...super.toJSON(), detail: this.#detail };
    }
}

const entries = []; // by startTime
function add(entry) {
    let at = entries.length;
    while (at > 0 && entries[at - 1].startTime > entry.startTime) at--;
    entries.splice(at, 0, entry);
    return entry;
}
function drop(type, name) {
    for (let i = entries.length - 1; i >= 0; i--) if (entries[i].entryType === type && (name === undefined || entries[i].name === `${name}`)) entries.splice(i, 1);
}

// When a mark was made, as far as there is one; a number is a time itself.
function timeOf(mark, otherwise) {
    if (typeof mark === 'number') return time(mark, 'A time of a measure');
    for (let i = entries.length - 1; i >= 0; i--) if (entries[i].entryType === 'mark' && entries[i].name === `${mark}`) return entries[i].startTime;
    return otherwise;
}

export class EventCounts {
    #counts = new Map();
    constructor(make) {
        illegal(make);
    }
    get size() {
        return this.#counts.size;
    }
    get(type) {
        return this.#counts.get(`${type}`);
    }
    has(type) {
        return this.#counts.has(`${type}`);
    }
    entries() {
        return this.#counts.entries();
    }
    keys() {
        return this.#counts.keys();
    }
    values() {
        return this.#counts.values();
    }
    forEach(callback, self) {
        this.#counts.forEach((count, type) => callback.call(self, count, type, this));
    }
    [Symbol.iterator]() {
        return this.#counts.entries();
    }
}

class PerformanceNodeTiming extends PerformanceEntry {
    constructor(make) {
        super(make, 'node', 'node', 0, 0);
        Object.assign(this, { nodeStart: 0, v8Start: 0, bootstrapComplete: 0, environment: 0, loopStart: 0, loopExit: 0, idleTime: 0, uvMetricsInfo: { loopCount: 0, events: 0, eventsWaiting: 0 } });
    }
    toJSON() {
        return { ...super.toJSON(), ...this };
    }
}

export class Performance extends EventTarget {
    #counts = null;
    #node = null;
    constructor(make) {
        illegal(make);
        super();
    }
    get timeOrigin() {
        return 0;
    }
    now() {
        return Date.now();
    }
    get eventCounts() {
        return (this.#counts ??= new EventCounts(MAKE));
    }
    get nodeTiming() {
        return (this.#node ??= new PerformanceNodeTiming(MAKE));
    }
    mark(name, options = undefined) {
        needArguments(1, arguments.length, "'mark' on 'Performance'");
        return add(new PerformanceMark(name, options));
    }
    measure(name, startOrOptions = undefined, endMark = undefined) {
        needArguments(1, arguments.length, "'measure' on 'Performance'");
        name = `${name}`;
        let start = 0;
        let end = Date.now();
        let detail = null;
        const options = typeof startOrOptions === 'object' && startOrOptions !== null ? startOrOptions : undefined;
        if (options !== undefined) {
            const { start: from, end: to, duration } = options;
            const given = from !== undefined || to !== undefined || duration !== undefined || options.detail !== undefined;
            if (given && endMark !== undefined) throw new TypeError("Failed to execute 'measure' on 'Performance': options and an end mark exclude each other.");
            if (given && from === undefined && to === undefined) throw new TypeError("Failed to execute 'measure' on 'Performance': options without a start need an end.");
            if (from !== undefined && to !== undefined && duration !== undefined) throw new TypeError("Failed to execute 'measure' on 'Performance': start, end and duration exclude each other.");
            if (endMark !== undefined) end = timeOf(endMark, end);
            if (to !== undefined) end = timeOf(to, end);
            if (from !== undefined) start = timeOf(from, start);
            if (duration !== undefined) {
                if (from !== undefined) end = start + number(duration, 'duration');
                else start = end - number(duration, 'duration');
            }
            detail = detailOf(options);
        } else {
            if (startOrOptions !== undefined && startOrOptions !== null) start = timeOf(startOrOptions, start);
            if (endMark !== undefined) end = timeOf(endMark, end);
        }
        return add(new PerformanceMeasure(MAKE, name, start, end - start, detail));
    }
    getEntries() {
        return entries.slice();
    }
    getEntriesByType(type) {
        needArguments(1, arguments.length, "'getEntriesByType' on 'Performance'");
        return entries.filter((e) => e.entryType === `${type}`);
    }
    getEntriesByName(name, type = undefined) {
        needArguments(1, arguments.length, "'getEntriesByName' on 'Performance'");
        return entries.filter((e) => e.name === `${name}` && (type === undefined || e.entryType === `${type}`));
    }
    clearMarks(name = undefined) {
        drop('mark', name);
    }
    clearMeasures(name = undefined) {
        drop('measure', name);
    }
    // There are no entries of resources.
    clearResourceTimings() {}
    setResourceTimingBufferSize(size) {
        needArguments(1, arguments.length, "'setResourceTimingBufferSize' on 'Performance'");
        number(size, 'size');
    }
    markResourceTiming() {}
    timerify(fn) {
        if (typeof fn !== 'function') throw new TypeError("Failed to execute 'timerify' on 'Performance': the argument is not a function.");
        return fn;
    }
    eventLoopUtilization() {
        return { idle: 0, active: 0, utilization: 0 };
    }
    toJSON() {
        return { timeOrigin: 0 };
    }
}
export const performance = new Performance(MAKE);

export const PerformanceResourceTiming = illegalClass('PerformanceResourceTiming', PerformanceEntry);
export const PerformanceObserverEntryList = illegalClass('PerformanceObserverEntryList');

export class PerformanceObserver {
    constructor(callback) {
        if (typeof callback !== 'function') throw new TypeError("Failed to construct 'PerformanceObserver': the callback is not a function.");
    }
    observe() {}
    disconnect() {}
    takeRecords() {
        return [];
    }
    static get supportedEntryTypes() {
        return ['mark', 'measure'];
    }
}

expose({ Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceResourceTiming, PerformanceObserver, PerformanceObserverEntryList, EventCounts, PerformanceNodeTiming });
Object.defineProperty(globalThis, 'performance', { value: performance, writable: true, configurable: true, enumerable: true });
