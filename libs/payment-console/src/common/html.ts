import { shownLines } from './text.js';

/** A piece of HTML that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

/**
 * Builds HTML: what is put into the template is escaped, unless it is {@link Html} itself. Nor does it turn the direction
 * of what stands around it, which would then read otherwise than it is.
 */
export function html(literals: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(literals.reduce((text, literal, index) => text + render(parts[index - 1]) + literal));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return shownLines(String(part)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
