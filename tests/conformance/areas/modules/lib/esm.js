export default 'the default';
export const named = 'named';
export let live = 0;
export const bump = () => live++;
export const { url } = import.meta;
