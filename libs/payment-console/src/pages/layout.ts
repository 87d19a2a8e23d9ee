import { html } from '../common/html.js';
import { ICON, STYLE } from '../common/style.js';
import type { Page, PageContext } from '../common/page-context.js';

const NAVIGATION: readonly (readonly [string, string])[] = [
  ['', 'Overview'],
  ['bills', 'Bills'],
  ['reviews', 'Reviews'],
  ['dead-letters', 'Dead letters'],
  ['unknown-outcomes', 'Unknown outcomes'],
  ['lost-bills', 'Lost bills'],
  ['log', 'Log'],
];

export function layout(
  { link, scope, operator }: PageContext,
  { title, place, tag, lead, message, content }: Page,
): string {
  const places = NAVIGATION.filter(([to]) => to !== 'log' || scope === null);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${message?.tone === 'bad' && 'Error: '}${title}: payment console</title>
        <link rel="stylesheet" href="${link(`assets/${STYLE.name}`)}" />
        <link rel="icon" href="${ICON}" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <div class="bar">
            <a class="brand" href="${link('')}"
              ><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 10h18M3 6h18v12H3zM15 14l2 1.6 3.4-4" /></svg
              >Payment console</a
            >
            <span class="soft">${scope && html`Shop ${scope} · `}${operator ?? 'read-only'}</span>
          </div>
          <nav aria-label="Console">
            ${places.map(
              ([to, name]) => html`<a href="${link(to)}" ${to === place && html` aria-current="page"`}>${name}</a> `,
            )}
          </nav>
        </header>
        <main id="main" tabindex="-1">
          <div class="title">
            <h1>${title}</h1>
            ${tag} ${lead && html`<p>${lead}</p>`}
          </div>
          ${message && html`<p class="message ${message.tone}" role="${message.tone === 'bad' ? 'alert' : 'status'}">${message.text}</p>`}
          ${content}
        </main>
      </body>
    </html>`.text;
}
