import { ApiRefusal } from './answers.js';

/** The operations of the interface (section 4), with their methods. */
const OPERATIONS: Readonly<Record<string, string>> = { 'bill/create': 'POST', 'bill/payments': 'GET' };

/** Those that clients ask for what `bill/payments` says. */
const POLLED = ['bill/status', 'bill/search', 'payment/status', 'payment/search'];

/** What else real clients call. Section 1 names these areas of the service but shows none of their operations. */
const NEIGHBOURS = [...POLLED, 'bill/toggle_activity', 'merchant/balance'];

/**
 * The refusal of an address that is not served, with a message for the client and a reason for the console. `path` has
 * no query string.
 */
export function refusalOfAddress(method: string, path: string): ApiRefusal {
  const steps = path.split('/').filter((step) => step !== '');
  const name = steps.slice(-2).join('/').toLowerCase();
  const outside = `not part of this interface: ${steps.join('/').replace(/^api\/v1\//, '') || '/'}`;
  if (NEIGHBOURS.includes(name)) {
    const message = `Not Found: ${name} is outside the documented interface, and not served here`;
    const instead = POLLED.includes(name) ? "; GET /api/v1/bill/payments?id=… lists a bill's payments" : '';
    return ApiRefusal.other(404, message, `not part of this interface: ${name}${instead}`);
  }
  const expected = OPERATIONS[name];
  if (expected === undefined) {
    const near = Object.keys(OPERATIONS).find((operation) => isNear(operation, name));
    const why = near === undefined ? outside : `${outside}; perhaps ${near} was meant, at /api/v1/${near}`;
    return ApiRefusal.other(404, 'Not Found', why);
  }
  const isAddress = steps.join('/') === `api/v1/${name}`;
  const why = isAddress ? `${name} takes ${expected}, not ${method}` : `${outside}; it is at /api/v1/${name}`;
  return ApiRefusal.other(404, isAddress ? `Not Found: ${why}` : 'Not Found', why);
}

/** Whether two texts differ in one letter: another one, one too many, or one too few. */
function isNear(one: string, other: string): boolean {
  let begin = 0;
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  let end = 0;
  const most = Math.min(one.length, other.length) - begin;
  while (end < most && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return Math.max(one.length, other.length) - begin - end <= 1;
}
