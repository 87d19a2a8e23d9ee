import type { ServerResponse } from 'node:http';
import { Html, html } from './html.js';

export interface Page {
  status: number;
  title: string;
  content: Html;
  /** Loads the address anew after a second. */
  refresh?: string;
  /** The page's form posts to a shop, at once where scripts run. */
  returnsToShop?: boolean;
  wide?: boolean;
}

export function sendPage(response: ServerResponse, page: Page): void {
  // A shop's answer to the form may redirect anywhere, and browsers hold that to form-action too.
  const formAction = page.returnsToShop ? 'http: https:' : "'self'";
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  response.writeHead(page.status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'strict-origin-when-cross-origin',
  });
  response.end(documentOf(page).text);
}

function documentOf(page: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${page.refresh !== undefined && html`<meta http-equiv="refresh" content="1;url=${page.refresh}" />`}
<title>${page.title}</title>
<link rel="stylesheet" href="/sandbox/assets/style.css">
${page.returnsToShop && html`<script src="/sandbox/assets/return.js" defer></script>`}
</head>
<body>
<main${page.wide && html` class="wide"`}>
${page.content}
<p class="note">This is a sandbox: no money moves. Use no real card.</p>
</main>
</body>
</html>
`;
}
