import { parseDecimal } from '../common/decimal.js';
import { SandboxError } from '../common/errors.js';
import { type Fields, isHttpAddress, readChoice, readFields, readFlag, readWhole } from '../common/input.js';
import type { Shop, ShopSettings } from './entities.js';

const DEFAULTS: Omit<ShopSettings, 'apiToken'> = {
  successUrl: null,
  failUrl: null,
  resultUrl: null,
  postbackFormat: 'json',
  postbackSignature: 'redirect-formula',
  commissionPercent: 0,
  banned: false,
  maxPayments: 100,
  name: null,
  billAddresses: false,
  roundAmounts: false,
  creationSuccess: 'text',
};

const NAMES = ['apiToken', ...Object.keys(DEFAULTS)];

/** What `input` leaves out stays as it is, or takes its default in a new shop. */
export function mergeShopSettings(input: unknown, present: ShopSettings | undefined): ShopSettings {
  // Allows `id`, so that the answer of GET can be PUT again.
  const fields = readFields(input, 'Shop settings', ['id', ...NAMES]);
  const apiToken = readToken(fields) ?? present?.apiToken;
  if (apiToken === undefined) throw new SandboxError(400, 'A new shop needs an apiToken');
  const base = { ...DEFAULTS, ...present };
  return {
    apiToken,
    successUrl: readUrl(fields, 'successUrl', base.successUrl),
    failUrl: readUrl(fields, 'failUrl', base.failUrl),
    resultUrl: readUrl(fields, 'resultUrl', base.resultUrl),
    postbackFormat: readChoice(fields, 'postbackFormat', ['json', 'form']) ?? base.postbackFormat,
    postbackSignature: readChoice(fields, 'postbackSignature', ['redirect-formula', 'none']) ?? base.postbackSignature,
    commissionPercent: readPercent(fields) ?? base.commissionPercent,
    banned: readFlag(fields, 'banned') ?? base.banned,
    maxPayments: readWhole(fields, 'maxPayments', 0, 1_000_000) ?? base.maxPayments,
    name: readName(fields, base.name),
    billAddresses: readFlag(fields, 'billAddresses') ?? base.billAddresses,
    roundAmounts: readFlag(fields, 'roundAmounts') ?? base.roundAmounts,
    creationSuccess: readChoice(fields, 'creationSuccess', ['text', 'boolean']) ?? base.creationSuccess,
  };
}

export function checkShop(shop: Shop, shops: Iterable<Shop>): void {
  if (!/^[\w.~-]{1,100}$/.test(shop.id)) {
    throw new SandboxError(400, 'A shop id must be 1 to 100 characters: letters, digits and . _ ~ -');
  }
  for (const { id, apiToken } of shops) {
    if (apiToken === shop.apiToken && id !== shop.id) {
      throw new SandboxError(400, `The shop ${id} already has this apiToken: a token belongs to one shop`);
    }
  }
}

function readToken(fields: Fields): string | undefined {
  const token = fields['apiToken'];
  if (token === undefined) return undefined;
  if (typeof token === 'string' && /^[\x21-\x7e]{1,512}$/.test(token)) return token;
  throw new SandboxError(400, 'apiToken must consist of visible ASCII characters without spaces');
}

function readName(fields: Fields, otherwise: string | null): string | null {
  const value = fields['name'];
  if (value === undefined) return otherwise;
  if (value === null) return null;
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 100) return value.trim();
  throw new SandboxError(400, 'name must be text of 1 to 100 characters, or null');
}

function readUrl(fields: Fields, name: string, otherwise: string | null): string | null {
  const value = fields[name];
  if (value === undefined) return otherwise;
  if (value === null) return null;
  if (typeof value === 'string' && isHttpAddress(value)) return value;
  throw new SandboxError(400, `${name} must be an http or https address, or null`);
}

function readPercent(fields: Fields): number | undefined {
  const value = fields['commissionPercent'];
  if (value === undefined) return undefined;
  const decimal = typeof value === 'number' || typeof value === 'string' ? parseDecimal(String(value)) : undefined;
  const percent = Number(value);
  if (decimal && decimal.scale <= 4 && percent >= 0 && percent < 100) return percent;
  throw new SandboxError(400, 'commissionPercent must be at least 0 and below 100, with at most four decimals');
}
