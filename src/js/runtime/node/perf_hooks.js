// node/perf_hooks.js: node:perf_hooks over the platform's performance.
import { err, notImplemented } from './errors.js';

const {
    performance, Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList,
    PerformanceResourceTiming,
} = globalThis;

const constants = {
    NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1, NODE_PERFORMANCE_GC_INCREMENTAL: 8, NODE_PERFORMANCE_GC_WEAKCB: 16,
    NODE_PERFORMANCE_GC_FLAGS_NO: 0, NODE_PERFORMANCE_GC_FLAGS_CONSTRUCT_RETAINED: 2, NODE_PERFORMANCE_GC_FLAGS_FORCED: 4,
    NODE_PERFORMANCE_GC_FLAGS_SYNCHRONOUS_PHANTOM_PROCESSING: 8, NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE: 16,
    NODE_PERFORMANCE_GC_FLAGS_ALL_EXTERNAL_MEMORY: 32, NODE_PERFORMANCE_GC_FLAGS_SCHEDULE_IDLE: 64,
};

// Of whole numbers from 1 on.
class Histogram {
    #values = [];
    get count() {
        return this.#values.length;
    }
    get countBigInt() {
        return BigInt(this.#values.length);
    }
    get min() {
        return this.#values.length === 0 ? 9223372036854776000 : Math.min(...this.#values);
    }
    get max() {
        return this.#values.length === 0 ? 0 : Math.max(...this.#values);
    }
    get mean() {
        return this.#values.length === 0 ? NaN : this.#values.reduce((a, b) => a + b, 0) / this.#values.length;
    }
    get stddev() {
        const { mean } = this;
        return this.#values.length === 0 ? NaN : Math.sqrt(this.#values.reduce((a, b) => a + (b - mean) ** 2, 0) / this.#values.length);
    }
    get exceeds() {
        return 0;
    }
    get percentiles() {
        return new Map([[100, this.max]]);
    }
    percentile(p) {
        if (!(p > 0 && p <= 100)) throw err.ERR_OUT_OF_RANGE('percentile', '> 0 && <= 100', p);
        const sorted = this.#values.toSorted((a, b) => a - b);
        return sorted[Math.ceil((p / 100) * sorted.length) - 1] ?? 0;
    }
    record(value) {
        if (typeof value !== 'bigint' && !Number.isInteger(value)) throw err.ERR_INVALID_ARG_TYPE('val', ['integer', 'bigint'], value);
        if (value < 1) throw err.ERR_OUT_OF_RANGE('val', '>= 1', value);
        this.#values.push(Number(value));
    }
    add(other) {
        if (!(other instanceof Histogram)) throw err.ERR_INVALID_ARG_TYPE('other', 'RecordableHistogram', other);
        this.#values.push(...other.#values);
    }
    reset() {
        this.#values = [];
    }
}

const eventLoopUtilization = () => ({ idle: 0, active: 0, utilization: 0 });
export default {
    Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, PerformanceResourceTiming,
    constants,
    createHistogram: () => new Histogram(),
    eventLoopUtilization,
    monitorEventLoopDelay: notImplemented('perf_hooks.monitorEventLoopDelay'),
    performance,
    timerify: (fn) => fn,
};
