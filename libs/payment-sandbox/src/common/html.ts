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

/** A list of names and values, without those that have no value. */
export function definitions(className: string, rows: readonly (readonly [name: string, value: Part])[]): Html {
  const shown = rows.filter(([, value]) => value !== '' && value !== null);
  return html`<dl class="${className}">
    ${shown.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

export function hiddenFields(fields: Readonly<Record<string, string>>): Html[] {
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `);
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

/** `7 450.50 RUB`, with thin spaces between thousands and the digits of the exact text. */
export function money(amount: string, currency: string): Html {
  return html`<span class="money">${groupDigits(amount)} ${currency}</span>`;
}

export function groupDigits(amount: string): string {
  return amount.replace(/\d(?=(\d{3})+(\.|$))/g, '$&\u202f');
}
