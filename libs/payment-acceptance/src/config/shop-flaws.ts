/** What is wrong with a shop's settings, and what to set instead. No sentence repeats a value: it may be a secret. */

const PLACEHOLDERS = new Set([
  'undefined', 'null', 'nan', 'none', 'empty', 'todo', 'fixme', 'tbd', 'test', 'example', 'sample', 'dummy', 'placeholder',
  'password', 'true', 'false', '[object object]', '[secret]',
]); // prettier-ignore
const PLACEHOLDER_PATTERNS = [
  /^(change|replace|insert|enter|set|put|fill)[\s_.-]?(me|this|it|in|with|your|the|here)([\s_.-]|$)/,
  /^your[\s_.-]/,
  /^(your|my|the)?[\s_.-]?((shop|merchant|service|api|access|auth|bearer)[\s_.-]?)*(token|secret|key|id)([\s_.-]?here)?$/,
  /^x[x\s_.-]*$/,
  // <token>, ${TOKEN}, {{ token }}, [token], %TOKEN%, $TOKEN: a template that nobody has filled in.
  /^(<.*>|\$?\{.*\}|\[.*\]|\(.*\)|%.*%|\$[a-z_]\w*)$/,
];
const LOCAL_HOST =
  /^(localhost|.*\.localhost|localhost\.localdomain|host\.docker\.internal|127\..*|0\.0\.0\.0|\[::1?\]|\[::ffff:7f.*\])\.?$/;

export function shopIdFlaw(shopId: unknown): string | undefined {
  const wrong = typeof shopId !== 'string' || shopId.trim() === '' || isPlaceholder(shopId);
  return wrong ? 'is empty or a placeholder. Set the shop_id that the service gave you.' : undefined;
}

export function tokenFlaw(token: unknown, production: boolean): string | undefined {
  const remedy = 'Set the API token that the service gave you.';
  if (typeof token !== 'string' || token.trim() === '') return `is empty. ${remedy}`;
  if (isPlaceholder(token) || /^(.)\1*$/.test(token)) return `is a placeholder, not a token. ${remedy}`;
  if (/^["'`]|["'`]$/.test(token)) return 'stands in quotation marks, which count as part of it. Set it without them.';
  if (/[^\x21-\x7e]/.test(token)) {
    return 'has white space, control or non-ASCII characters, which no HTTP header carries. Set the token alone.';
  }
  if (production && /sandbox/i.test(token)) return `is a token of the sandbox, and NODE_ENV is production. ${remedy}`;
  return undefined;
}

export function addressFlaw(address: unknown, production: boolean): string | undefined {
  const remedy = 'Set the base address of the service, such as https://api.pay.example.';
  if (typeof address !== 'string' || address.trim() === '') return `is empty. ${remedy}`;
  // In the text itself: the parsed address shows neither white space around it nor an empty query.
  if (/[\s\p{Cc}]/u.test(address)) return `has white space or control characters in it. ${remedy}`;
  if (/[?#]/.test(address)) return `has a query or a fragment ("?", "#"), behind which no path can stand. ${remedy}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return `is not an http or https address. ${remedy}`;
  if (url.username || url.password) {
    return 'has a user name or a password in it, which logs would show. Set it without: the token is all that is needed.';
  }
  if (/\/api\/v1\/*$/.test(url.pathname)) return 'already ends in /api/v1, which is added to it. Set it without.';
  if (production && url.protocol !== 'https:') {
    return `is not https, and NODE_ENV is production: anybody on the way could read the token. ${remedy}`;
  }
  const sandbox = /(^|[./-])sandbox([./-]|$)/.test(url.hostname + url.pathname.toLowerCase());
  if (production && (sandbox || LOCAL_HOST.test(url.hostname))) {
    return `is the address of a sandbox or of this machine, and NODE_ENV is production. ${remedy}`;
  }
  return undefined;
}

function isPlaceholder(value: string): boolean {
  const text = value.trim().toLowerCase();
  return PLACEHOLDERS.has(text) || PLACEHOLDER_PATTERNS.some((pattern) => pattern.test(text));
}
