const MAX_ADDRESS_LENGTH = 8_192;

/** An http or https URL as a browser parses it: ASCII without white space, safe in any header; `null` for others. */
export function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_ADDRESS_LENGTH || !URL.canParse(value)) return null;
  const { protocol, href } = new URL(value);
  return /^https?:$/.test(protocol) ? href : null;
}

/**
 * The URL of a payment page, entered by a person. In production only https: the payer enters card data there, and
 * unlike the service's own answer, nothing but that person vouches for it.
 */
export function statedPageAddress(value: unknown, production: boolean): string | null {
  const href = webAddress(value);
  return href !== null && production && !href.startsWith('https:') ? null : href;
}
