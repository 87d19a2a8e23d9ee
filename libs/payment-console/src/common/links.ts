import type { ConsoleRequest } from './options.js';
import type { Link } from './page-context.js';

/** The address that the browser requested, if the adapter knows it. */
export function addressOf({ originalUrl, url = '/' }: ConsoleRequest): URL {
  return new URL(`http://console${(originalUrl ?? url).replace(/^[^/]+:\/\/[^/]*/, '')}`);
}

/**
 * @param name last segment of the console's own address
 * @param depth how many segments the current address has below the console's own
 */
export function linksFrom(address: URL, name: string, depth: number): Link {
  const up = '../'.repeat(depth + (address.pathname.endsWith('/') ? 1 : 0));
  return (to, query = {}) => {
    const entries = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = new URLSearchParams(entries).toString();
    return `${up}${name}${to === '' ? '' : `/${to}`}${search === '' ? '' : `?${search}`}`;
  };
}
