import type { ServerResponse } from 'node:http';
import type { SandboxRequest } from '../common/http.js';
import type { ApiGateway } from './api-gateway.js';

const OPERATIONS = /^\/api\/v1\/bill\/(?:create|payments)\/?$/i;
const PAGES = /^\/(?:(?:link|transfer|sandbox)\/|sandbox$)/;
/** What browsers request on their own. */
const BROWSERS_OWN = /^\/(?:favicon\.ico|robots\.txt|apple-touch-icon[\w-]*\.png|\.well-known\/.*)$/;

/**
 * Runs before the routes of a sandbox that has its port to itself. Collapses the double slashes that a base address
 * with a trailing slash causes (assumed: the service does too), redirects `/` to the console, and refuses every other
 * address as the API does, so that the console shows the request.
 */
export function frontDoor(gateway: ApiGateway) {
  return (request: SandboxRequest, response: ServerResponse, next: () => void): void => {
    // A client that believes to speak to a proxy sends the whole address.
    const url = request.url?.replace(/^https?:\/\/[^/?]*/i, '') || '/';
    const end = url.includes('?') ? url.indexOf('?') : url.length;
    const path = url.slice(0, end).replace(/\/{2,}/g, '/');
    request.url = path + url.slice(end);
    if (path === '/' && (request.method === 'GET' || request.method === 'HEAD')) {
      response.writeHead(302, { location: '/sandbox', 'cache-control': 'no-store' }).end();
    } else if (OPERATIONS.test(path) || PAGES.test(path)) next();
    else if (BROWSERS_OWN.test(path)) response.writeHead(404).end();
    else void gateway.refuse(request, response);
  };
}
