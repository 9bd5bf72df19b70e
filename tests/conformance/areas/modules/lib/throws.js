throw new RangeError('while loading');
