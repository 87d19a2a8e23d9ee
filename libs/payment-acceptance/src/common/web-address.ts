const MAX_ADDRESS_LENGTH = 2_048;

/**
 * An http or https address as a browser reads it: ASCII without white space and line ends, fit for any header; `null` for
 * anything else.
 */
export function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_ADDRESS_LENGTH || !URL.canParse(value)) return null;
  const { protocol, href } = new URL(value);
  return /^https?:$/.test(protocol) ? href : null;
}

/**
 * The address of a payment page that a person states. In production only https: the payer types a card there, and other
 * than with the service's own answer, nobody but that person vouches for it.
 */
export function statedPageAddress(value: unknown, production: boolean): string | null {
  const href = webAddress(value);
  return href !== null && production && !href.startsWith('https:') ? null : href;
}
