import { parseDecimal } from '../common/decimal.js';
import { SandboxError } from '../common/errors.js';
import { type Fields, isHttpAddress, readChoice, readField, readFields, readFlag, readWhole } from '../common/input.js';
import type { Shop, ShopSettings } from './entities.js';

type Settings = Omit<ShopSettings, 'apiToken'>;
type Reader<T> = (fields: Fields, name: string) => T | undefined;

/** What each setting is in a new shop, and how it is read. Those that are null by default can be given as null. */
const SETTINGS: { [N in keyof Settings]: [byDefault: Settings[N], read: Reader<Settings[N]>] } = {
  successUrl: [null, readUrl],
  failUrl: [null, readUrl],
  resultUrl: [null, readUrl],
  postbackFormat: ['json', oneOf('json', 'form')],
  postbackSignature: ['redirect-formula', oneOf('redirect-formula', 'none')],
  commissionPercent: [0, readPercent],
  banned: [false, readFlag],
  maxPayments: [100, (fields, name) => readWhole(fields, name, 0, 1_000_000)],
  name: [null, readName],
  billAddresses: [false, readFlag],
  roundAmounts: [false, readFlag],
  creationSuccess: ['text', oneOf('text', 'boolean')],
};

/** What `input` leaves out stays as it is, or takes its default in a new shop. */
export function mergeShopSettings(id: string, input: unknown, present: ShopSettings | undefined): ShopSettings {
  // Allows `id`, so that the answer of GET can be PUT again.
  const fields = readFields(input, 'Shop settings', ['id', 'apiToken', ...Object.keys(SETTINGS)]);
  if (fields['id'] !== undefined && fields['id'] !== id) throw new SandboxError(400, 'A shop keeps its id');
  const apiToken = readToken(fields) ?? present?.apiToken;
  if (apiToken === undefined) throw new SandboxError(400, 'A new shop needs an apiToken');
  const settings = Object.entries(SETTINGS).map(([name, [byDefault, read]]) => {
    const otherwise = present?.[name as keyof Settings] ?? byDefault;
    return [name, fields[name] === null && byDefault === null ? null : (read(fields, name) ?? otherwise)];
  });
  return { apiToken, ...(Object.fromEntries(settings) as Settings) };
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

function oneOf<T extends string>(...values: T[]): Reader<T> {
  return (fields, name) => readChoice(fields, name, values);
}

function readName(fields: Fields, name: string): string | undefined {
  return readField(fields, name, 'text of 1 to 100 characters, or null', (value) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= 100 ? value.trim() : undefined,
  );
}

function readUrl(fields: Fields, name: string): string | undefined {
  return readField(fields, name, 'an http or https address, or null', (value) =>
    typeof value === 'string' && isHttpAddress(value) ? value : undefined,
  );
}

function readPercent(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  const decimal = typeof value === 'number' || typeof value === 'string' ? parseDecimal(String(value)) : undefined;
  const percent = Number(value);
  if (decimal && decimal.scale <= 4 && percent >= 0 && percent < 100) return percent;
  throw new SandboxError(400, `${name} must be at least 0 and below 100, with at most four decimals`);
}
