// storage_cell.js: the storage of a cell.
import { parts } from './cells.js';
import { start } from './core.js';
import { newStorage } from './storage.js';
import { cellClass, hasSql } from './worker.js';

const { storage_of, storage_synced } = host;

parts.newStorage = (cell) =>
    newStorage(storage_of(cell.eventId), {
        sql: hasSql(cell.className),
        hasAlarm: () => typeof cellClass(cell.className).prototype?.alarm === 'function' || typeof cell.instance?.alarm === 'function',
        block: (fn, text) => cell.block(fn, text),
        synced: () => start(storage_synced),
    });
