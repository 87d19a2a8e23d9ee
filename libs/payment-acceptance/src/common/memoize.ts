/**
 * Caches a function of a string. Beyond `maxEntries` strings, further ones are computed each time, so that the memory stays
 * limited.
 */
export function memoize<T extends object | string>(
  make: (text: string) => T,
  maxEntries = Infinity,
): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    if (made.size < maxEntries) made.set(text, value);
    return value;
  };
}
