import { b, seen } from './cycle_b.js';
export const a = 'a';
export const fromB = () => `${a} sees ${b}`;
export const early = seen;
