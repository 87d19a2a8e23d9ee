/** A piece of HTML that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

/** Builds HTML: what is put into the template is escaped, unless it is {@link Html} itself. */
export function html(literals: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(literals.reduce((text, literal, index) => text + render(parts[index - 1]) + literal));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
