globalThis.timesRun = (globalThis.timesRun ?? 0) + 1;
