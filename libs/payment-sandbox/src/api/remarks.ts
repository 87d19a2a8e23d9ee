import type { Shop } from '../model/entities.js';
import type { ReceivedRequest } from '../storage/received-requests.js';
import type { ApiOperation } from '../storage/request-log.js';
import type { Parameters } from './parameters.js';
import { isFloat } from '../common/decimal.js';
import { quote } from './reasons.js';

/** The fields of 2.1 and 4.2; the `shop_id` of a look at payments is checked, too. */
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
/** What the setting `billAddresses` of a shop takes. */
const ADDRESSES = ['success_url', 'fail_url', 'return_url'];
/** Other names under which clients send a field. */
const MEANT: Readonly<Record<string, string>> = {
  currency: 'currency_in',
  bill: 'id',
  billid: 'id',
  order: 'order_id',
};
const MOST_NAMED = 5;

/**
 * What is odd about a request that was accepted, in one sentence; null if nothing is. The specification says neither what the
 * service does with unknown fields nor how exact an address must be.
 */
export function remarkOn(
  operation: ApiOperation,
  received: Pick<ReceivedRequest, 'address' | 'headers' | 'body'>,
  parameters: Parameters,
  shop: Shop,
): string | null {
  const known = [...FIELDS[operation], ...(operation === 'create' && shop.billAddresses ? ADDRESSES : [])];
  const ignored = [...parameters.keys()].filter((name) => !known.includes(name));
  const remarks = ignored.slice(0, MOST_NAMED).map((name) => `${quote(name)} is ignored${meant(name, operation)}`);
  const more = ignored.length - MOST_NAMED;
  if (more > 0) remarks.push(more === 1 ? 'so is one more field' : `so are ${more} more fields`);
  if (operation === 'create' && !parameters.get('shop_id')) {
    remarks.push('shop_id is missing, though the specification lists it among the fields of a bill');
  }
  const lenient = leniencies(operation, received);
  if (operation === 'create' && isFloat(parameters.get('amount') ?? '')) lenient.push('an amount in floating point');
  if (lenient.length > 0) remarks.push(`${lenient.join(' and ')} is accepted here, but may not be by the service`);
  return remarks.join('; ') || null;
}

/** What is served though the specification shows it otherwise. */
function leniencies(
  operation: ApiOperation,
  { address, headers, body }: Pick<ReceivedRequest, 'address' | 'headers' | 'body'>,
): string[] {
  const [path = ''] = address.split('?');
  const steps = path.split('/').filter((step) => step !== '');
  const type = headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value;
  const isJson = /^\s*\{/.test(body) && !/json|form/i.test(type ?? '');
  return [
    /\/{2}/.test(path) && 'an address with //',
    path.endsWith('/') && 'an address with a trailing slash',
    steps.slice(-2).join('/') !== `bill/${operation}` && `an address not spelled bill/${operation}`,
    isJson && `JSON ${type === undefined ? 'without a Content-Type' : `as ${quote(type)}`}`,
  ].filter((each) => each !== false);
}

function meant(name: string, operation: ApiOperation): string {
  if (operation === 'create' && ADDRESSES.includes(name)) return ': the shop’s setting billAddresses enables it';
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, '');
  const field = FIELDS[operation].find((each) => plain(each) === plain(name)) ?? MEANT[plain(name)];
  return field !== undefined && FIELDS[operation].includes(field) ? `: perhaps ${field} was meant` : '';
}
