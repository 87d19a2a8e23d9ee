/**
 * What a function makes of texts that are few and come again and again: once for each. Beyond `maxEntries` texts it is made each
 * time, so that texts which are many take no memory.
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
