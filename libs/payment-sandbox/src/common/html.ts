/** HTML that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | false | null | undefined | readonly Part[];

/**
 * Interpolated values are escaped unless they are {@link Html}, and cannot change the text direction around them.
 * Attribute values keep every character, because a form sends them back.
 */
export function html(literals: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    literals.reduce((text, literal, index) => text + render(parts[index - 1], text.endsWith('="')) + literal),
  );
}

function render(part: Part, isAttribute: boolean): string {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map((each) => render(each, isAttribute)).join('');
  const text = isAttribute ? String(part) : String(part).replace(DIRECTION_PATTERN, '\ufffd');
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const DIRECTION_PATTERN = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
