import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isObject } from '../common/objects.js';

const NAME = 'set-cookie';

/**
 * Lets an answer set only cookies that the request has brought. A browser sends none with a form that the service's page posts
 * to us (SameSite), so a session of the application's would be a new one, and its cookie would log the payer out.
 */
export function keepCookies({ headers: { cookie = '' } }: IncomingMessage, response: ServerResponse): void {
  const requestCookieNames = new Set(cookie.split(';').map(nameOf));
  const pickKnown = (cookies: unknown): string[] =>
    [cookies].flat().filter((each): each is string => typeof each === 'string' && requestCookieNames.has(nameOf(each)));
  const writeHead = response.writeHead.bind(response) as (status: number, ...args: unknown[]) => ServerResponse;
  // Wrapped first, so it runs after those who add cookies at the last moment.
  response.writeHead = (status: number, ...args: unknown[]) => {
    const set = pickKnown(response.getHeader(NAME));
    if (set.length > 0) response.setHeader(NAME, set);
    else response.removeHeader(NAME);
    return writeHead(
      status,
      ...args.map((each) =>
        isObject(each) && !Array.isArray(each) ? withCookies(each as OutgoingHttpHeaders, pickKnown) : each,
      ),
    );
  };
}

function withCookies(headers: OutgoingHttpHeaders, pickKnown: (cookies: unknown) => string[]): OutgoingHttpHeaders {
  const entries = Object.entries(headers).map(([name, value]) =>
    name.toLowerCase() === NAME ? ([name, pickKnown(value)] as const) : ([name, value] as const),
  );
  return Object.fromEntries(entries.filter(([, value]) => !(Array.isArray(value) && value.length === 0)));
}

function nameOf(cookie: string): string {
  return (cookie.split('=', 1)[0] ?? '').trim();
}
