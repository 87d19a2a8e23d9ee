import { isFloat } from '../common/decimal.js';
import type { Shop } from '../model/entities.js';
import type { ApiOperation, ReceivedRequest } from '../storage/request-log.js';
import type { Parameters } from './parameters.js';
import { quote } from './reasons.js';

/** The fields of 2.1 and 4.2, and the `shop_id` of a request for payments, which is also checked. */
const FIELDS: Readonly<Record<ApiOperation, readonly string[]>> = {
  create: [
    'amount',
    'order_id',
    'description',
    'type',
    'shop_id',
    'currency_in',
    'custom',
    'payer_pays_commission',
    'name',
  ],
  payments: ['id', 'shop_id'],
};
/** The fields that a shop with `billAddresses` accepts. */
const ADDRESSES = ['success_url', 'fail_url', 'return_url'];
/** Other names under which clients send a field. */
const FIELD_ALIASES: Readonly<Record<string, string>> = {
  currency: 'currency_in',
  bill: 'id',
  billid: 'id',
  order: 'order_id',
};
const MAX_NAMED_FIELDS = 5;

type Sent = Pick<ReceivedRequest, 'address' | 'headers' | 'body'>;

/**
 * Says in one sentence what is odd about a request but no reason to refuse it; null if nothing is. The specification
 * says neither what the service does with unknown fields nor how exactly an address must match.
 */
export function remarkOn(operation: ApiOperation, received: Sent, parameters: Parameters, shop: Shop): string | null {
  const knownFields = [...FIELDS[operation], ...(operation === 'create' && shop.billAddresses ? ADDRESSES : [])];
  const ignored = [...parameters.keys()].filter((name) => !knownFields.includes(name));
  const remarks = ignored
    .slice(0, MAX_NAMED_FIELDS)
    .map((name) => `${quote(name)} is ignored${suggestField(name, operation)}`);
  const omittedCount = ignored.length - MAX_NAMED_FIELDS;
  if (omittedCount > 0)
    remarks.push(omittedCount === 1 ? 'so is one more field' : `so are ${omittedCount} more fields`);
  if (operation === 'create' && !parameters.get('shop_id')) {
    remarks.push('shop_id is missing, though the specification lists it among the fields of a bill');
  }
  const acceptedOddities = findOddities(operation, received);
  if (operation === 'create' && isFloat(parameters.get('amount') ?? ''))
    acceptedOddities.push('an amount with more decimals than money has, as floating-point arithmetic gives');
  if (acceptedOddities.length > 0)
    remarks.push(`accepted here, but perhaps not by the service: ${acceptedOddities.join(' and ')}`);
  return remarks.join('; ') || null;
}

/** Names what is accepted although the specification shows it differently. */
function findOddities(operation: ApiOperation, { address, headers, body }: Sent): string[] {
  const [path = ''] = address.split('?');
  const steps = path.split('/').filter((step) => step !== '');
  const type = headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value;
  const charset = /charset="?([\w-]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  const isJson = /^\s*\{/.test(body) && !/json|form/i.test(type ?? '');
  return [
    /\/{2}/.test(path) && 'an address with //',
    path.endsWith('/') && 'an address with a trailing slash',
    steps.slice(-2).join('/') !== `bill/${operation}` && `an address not spelled bill/${operation}`,
    !/^(utf-?8|us-ascii)$/i.test(charset) && `a body that is read as UTF-8 though it says ${quote(charset)}`,
    isJson && `JSON ${type === undefined ? 'without a Content-Type' : `as ${quote(type)}`}`,
  ].filter((each) => each !== false);
}

function suggestField(name: string, operation: ApiOperation): string {
  if (operation === 'create' && ADDRESSES.includes(name)) return ': the shop’s setting billAddresses enables it';
  const normalize = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, '');
  const field = FIELDS[operation].find((each) => normalize(each) === normalize(name)) ?? FIELD_ALIASES[normalize(name)];
  return field !== undefined && FIELDS[operation].includes(field) ? `: perhaps ${field} was meant` : '';
}
