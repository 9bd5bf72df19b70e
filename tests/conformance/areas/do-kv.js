import { Cell, inside } from '../case.js';

export { Cell };

inside('put and get', async ({ storage }) => {
    await storage.put('a', 1);
    return [await storage.get('a'), await storage.get('b')];
}, [1, undefined]);
inside('a value outlives its event', [
    ({ storage }) => storage.put('a', { n: 1 }),
    ({ storage }) => storage.get('a'),
    20,
    ({ storage }) => storage.delete('a'),
    ({ storage }) => storage.get('a'),
], [undefined, { n: 1 }, true, undefined]);
