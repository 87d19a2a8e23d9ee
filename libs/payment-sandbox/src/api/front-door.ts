import type { ServerResponse } from 'node:http';
import type { SandboxRequest } from '../common/http.js';
import type { ApiGateway } from './api-gateway.js';

const OPERATION_PATH_PATTERN = /^\/api\/v1\/bill\/(?:create|payments)\/?$/i;
const PAGE_PATH_PATTERN = /^\/(?:(?:link|transfer|sandbox)\/|sandbox$)/;
/** Browsers request these on their own. */
const BROWSER_PATH_PATTERN = /^\/(?:favicon\.ico|robots\.txt|apple-touch-icon[\w-]*\.png|\.well-known\/.*)$/;

/**
 * Runs before the routes of a sandbox that has its port to itself. Collapses the double slashes that a base address
 * with a trailing slash causes (assumed: the service does too), redirects `/` to the console, and refuses every other
 * address as the API does, so that the console shows the request.
 */
export function createRequestFilter(gateway: ApiGateway) {
  return (request: SandboxRequest, response: ServerResponse, next: () => void): void => {
    // A client that believes it is talking to a proxy sends the absolute URL.
    const url = request.url?.replace(/^https?:\/\/[^/?]*/i, '') || '/';
    const end = url.includes('?') ? url.indexOf('?') : url.length;
    const path = url.slice(0, end).replace(/\/{2,}/g, '/');
    request.url = path + url.slice(end);
    if (path === '/' && (request.method === 'GET' || request.method === 'HEAD')) {
      response.writeHead(302, { location: '/sandbox', 'cache-control': 'no-store' }).end();
    } else if (OPERATION_PATH_PATTERN.test(path) || PAGE_PATH_PATTERN.test(path)) next();
    else if (BROWSER_PATH_PATTERN.test(path)) response.writeHead(404).end();
    else void gateway.refuse(request, response);
  };
}
