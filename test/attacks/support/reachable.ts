import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { types } from 'node:util';

/**
 * Searches everything reachable from an object for some texts: names and values of all own properties, prototypes, entries
 * of maps and sets, bytes. Finds more than `util.inspect` shows at any depth.
 * @returns the path of each occurrence
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
      // The value of an accessor is computed when it is read, and stored nowhere.
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

/** The application with all instances that Nest has created, which it keeps in private fields. */
export function held(app: INestApplication): object {
  const modules = [...app.get(ModulesContainer).values()];
  const wrappers = modules.flatMap(({ providers, controllers }) => [...providers.values(), ...controllers.values()]);
  return { app, instances: wrappers.map(({ instance }): unknown => instance) };
}
