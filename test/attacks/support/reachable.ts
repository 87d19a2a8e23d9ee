import { types } from 'node:util';

/**
 * Looks for texts in all that can be reached from an object: own properties of every kind, names and values, prototypes,
 * entries of maps and sets, bytes. More than `util.inspect` shows at any depth. Gives where each was found.
 */
export function findReachable(root: object, texts: readonly string[]): string[] {
  const found: string[] = [];
  const seen = new Set<object>([root]);
  const waiting: { value: object; path: string }[] = [{ value: root, path: '' }];
  const look = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (texts.some((text) => value.includes(text))) found.push(path);
    } else if (ArrayBuffer.isView(value)) {
      look(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1'), path);
    } else if ((typeof value === 'object' && value !== null) || typeof value === 'function') {
      if (seen.has(value)) return;
      seen.add(value);
      waiting.push({ value, path });
    }
  };
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    for (const name of Reflect.ownKeys(value)) {
      look(name, `${path}.(name)`);
      // What an accessor would give is made when it is asked for, and kept nowhere.
      look(Object.getOwnPropertyDescriptor(value, name)?.value, `${path}.${String(name)}`);
    }
    if (types.isMap(value)) {
      for (const [name, item] of value) {
        look(name, `${path}.(key)`);
        look(item, `${path}.get(${typeof name === 'string' ? name : typeof name})`);
      }
    }
    if (types.isSet(value)) for (const item of value) look(item, `${path}.(item)`);
    look(Object.getPrototypeOf(value), path);
  }
  return found;
}
