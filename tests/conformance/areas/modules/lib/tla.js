export const order = ['before'];
export const ready = await Promise.resolve('waited');
order.push('after');
