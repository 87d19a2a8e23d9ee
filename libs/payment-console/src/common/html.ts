import { shownLines } from './text.js';

/** HTML that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

/** Interpolated values are escaped unless they are {@link Html}, and cannot change the text direction around them. */
export function html(literals: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(literals.reduce((text, literal, index) => text + render(parts[index - 1]) + literal));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return shownLines(String(part)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
