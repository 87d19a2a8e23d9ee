/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** Puts values into HTML. A value that is not {@link Html} is escaped, and cannot change the text direction around it. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

type Value = Html | string | number | false | null | undefined | readonly Value[];

function render(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object' && value !== null) return value.map(render).join('');
  if (value === null || value === undefined || value === false) return '';
  const text = String(value).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
