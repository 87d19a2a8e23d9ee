import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Asset } from './asset.js';
import { type Html, html } from './html.js';
import type { SandboxRequest } from './http.js';
import { ICON, STYLE } from './style.js';

export interface Page {
  status: number;
  title: string;
  body: Html;
  /** Enhances the page, which works without it. */
  script?: Asset;
  /** Without scripts, the browser loads this address after a second. */
  refresh?: string;
  /** The page has a form that posts to a shop, submitted at once if scripts run. */
  returnsToShop?: boolean;
}

/** If the request is given and shows that the client already has the page, answers 304. */
export function sendPage(response: ServerResponse, page: Page, request?: SandboxRequest): void {
  const text = documentOf(page).text;
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  if (request?.headers['if-none-match'] === etag) {
    response.writeHead(304, { etag, 'cache-control': 'no-store' }).end();
    return;
  }
  // A shop's answer to the form may redirect anywhere, and browsers apply form-action to that too.
  const formAction = page.returnsToShop ? 'http: https:' : "'self'";
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  response.writeHead(page.status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    etag,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'strict-origin-when-cross-origin',
  });
  response.end(text);
}

function documentOf(page: Page): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${page.title}</title>
        <link rel="stylesheet" href="${STYLE.address}" />
        <link rel="icon" href="${ICON.address}" />
        ${page.refresh !== undefined && html`<noscript><meta http-equiv="refresh" content="1;url=${page.refresh}" /></noscript>`}
        ${page.script && html`<script src="${page.script.address}" defer></script>`}
      </head>
      ${page.body}
    </html> `;
}
