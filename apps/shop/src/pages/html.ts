/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** Puts values into HTML, escaping everything that is not HTML already. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

type Value = Html | string | number | false | null | undefined | readonly Value[];

function render(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object' && value !== null) return value.map(render).join('');
  if (value === null || value === undefined || value === false) return '';
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export interface Layout {
  readonly title: string;
  /** Seconds after which the page loads itself again. */
  readonly refresh?: number | false;
}

export function layout({ title, refresh = false }: Layout, content: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${refresh !== false && html`<meta http-equiv="refresh" content="${refresh}" />`}
        <title>${title}</title>
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        <header>
          <a href="/">Coffee shop</a>
          <nav><a href="/orders">Orders</a></nav>
        </header>
        <main>${content}</main>
      </body>
    </html>`.text;
}
