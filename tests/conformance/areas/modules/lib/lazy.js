export const value = 'lazy';
export default (x) => x * 2;
