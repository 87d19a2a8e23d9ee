/**
 * Caches a function of a string. Results beyond `maxEntries` strings are not cached, so that the memory stays limited.
 */
export function memoize<T extends object | string>(
  make: (text: string) => T,
  maxEntries = Infinity,
): (text: string) => T {
  const cache = new Map<string, T>();
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const value = make(text);
    if (cache.size < maxEntries) cache.set(text, value);
    return value;
  };
}
