import type { OptionContext } from './option-rule.js';

/* What is wrong with a shop's settings, and what to set instead. No sentence repeats a value: it may be a secret. */

const PLACEHOLDERS = new Set([
  'undefined', 'null', 'nan', 'none', 'empty', 'todo', 'fixme', 'tbd', 'test', 'example', 'sample', 'dummy', 'placeholder',
  'password', 'true', 'false', '[object object]', '[secret]',
]); // prettier-ignore
const PLACEHOLDER_PATTERNS = [
  /^(change|replace|insert|enter|set|put|fill)[\s_.-]?(me|this|it|in|with|your|the|here)([\s_.-]|$)/,
  /^your[\s_.-]/,
  /^(your|my|the)?[\s_.-]?((shop|merchant|service|api|access|auth|bearer)[\s_.-]?)*(token|secret|key|id)([\s_.-]?here)?$/,
  /^x[x\s_.-]*$/,
  // <token>, ${TOKEN}, {{ token }}, [token], %TOKEN%, $TOKEN: a template that was not filled in.
  /^(<.*>|\$?\{.*\}|\[.*\]|\(.*\)|%.*%|\$[a-z_]\w*)$/,
];
const LOCAL_HOST_PATTERN =
  /^(localhost|.*\.localhost|localhost\.localdomain|host\.docker\.internal|127\..*|0\.0\.0\.0|\[::1?\]|\[::ffff:7f.*\])\.?$/;

export const ADVICE = {
  shopId: 'Set it to the shop_id issued by the service.',
  apiToken: 'Set it to the API token issued by the service.',
  apiBaseUrl: 'Set it to the base address of the service, such as https://api.pay.example.',
};
const ALLOW_SANDBOX = 'If you mean to use a sandbox, set allowSandbox.';

export function shopIdProblem(shopId: unknown): string | undefined {
  if (typeof shopId !== 'string') return notTextProblem(shopId, ADVICE.shopId);
  if (shopId.trim() === '' || isPlaceholder(shopId)) {
    return `is empty or a placeholder. ${ADVICE.shopId}`;
  }
  if (isQuoted(shopId)) return QUOTED_PROBLEM;
  if (/[\s\p{C}]/u.test(shopId)) return `has white space or control characters in it. ${ADVICE.shopId}`;
  return undefined;
}

function notTextProblem(value: unknown, advice: string): string {
  return value === undefined || value === null
    ? `is missing. ${advice}`
    : `must be a string, not of the type ${typeof value}. ${advice}`;
}

const QUOTED_PROBLEM = 'is in quotation marks, which count as part of it. Set it without them.';

function isQuoted(text: string): boolean {
  return /^["'`]|["'`]$/.test(text);
}

export function tokenProblem(token: unknown, context: OptionContext): string | undefined {
  const advice = ADVICE.apiToken;
  if (typeof token !== 'string') return notTextProblem(token, advice);
  if (token.trim() === '') return `is empty. ${advice}`;
  if (isPlaceholder(token) || /^(.)\1*$/.test(token)) return `is a placeholder, not a token. ${advice}`;
  if (isQuoted(token)) return QUOTED_PROBLEM;
  if (/[^\x21-\x7e]/.test(token)) {
    return 'contains white space, control or non-ASCII characters, which an HTTP header cannot carry. Set the token without them.';
  }
  if (requiresRealAddress(context) && /sandbox/i.test(token)) {
    return `is a sandbox token, but NODE_ENV is production. ${advice} ${ALLOW_SANDBOX}`;
  }
  return undefined;
}

export function tokensProblem(tokens: unknown, context: OptionContext): string | undefined {
  if (!Array.isArray(tokens)) return 'must be a list of tokens.';
  return tokens.map((token) => tokenProblem(token, context)).find((problem) => problem !== undefined);
}

export function apiAddressProblem(address: unknown, context: OptionContext): string | undefined {
  const advice = ADVICE.apiBaseUrl;
  const problem = addressProblem(address, context, advice, 'the token');
  if (problem) return problem;
  const { hostname, pathname } = new URL(String(address));
  if (/\/api\/v1\/*$/.test(pathname)) return 'ends in /api/v1, which is added automatically. Set it without /api/v1.';
  if (context.production && LOCAL_HOST_PATTERN.test(hostname)) {
    return `is the address of this machine, but NODE_ENV is production. ${advice}`;
  }
  if (requiresRealAddress(context) && /(^|[./-])sandbox([./-]|$)/.test(hostname + pathname.toLowerCase())) {
    return `is the address of a sandbox, but NODE_ENV is production. ${advice} ${ALLOW_SANDBOX}`;
  }
  return undefined;
}

export function publicAddressProblem(address: unknown, context: OptionContext): string | undefined {
  const advice =
    'Set it to the base address at which the service reaches the application, such as https://shop.example.';
  return addressProblem(address, context, advice, 'the callbacks');
}

function addressProblem(address: unknown, { production }: OptionContext, advice: string, readable: string) {
  if (typeof address !== 'string') return notTextProblem(address, advice);
  if (address.trim() === '') return `is empty. ${advice}`;
  // Checks the text itself: parsing drops surrounding white space and an empty query.
  if (/[\s\p{Cc}]/u.test(address)) return `contains white space or control characters. ${advice}`;
  if (/[?#]/.test(address)) return `has a query or a fragment ("?", "#"), so no path can be added to it. ${advice}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return `is not an http or https address. ${advice}`;
  if (url.username || url.password) return `contains a user name or a password, which would appear in logs. ${advice}`;
  if (production && url.protocol !== 'https:') {
    return `is not https, but NODE_ENV is production: anyone on the network path could read ${readable}. ${advice}`;
  }
  return undefined;
}

function requiresRealAddress({ production, allowSandbox }: OptionContext): boolean {
  return production && !allowSandbox;
}

function isPlaceholder(value: string): boolean {
  const text = value.trim().toLowerCase();
  return PLACEHOLDERS.has(text) || PLACEHOLDER_PATTERNS.some((pattern) => pattern.test(text));
}
