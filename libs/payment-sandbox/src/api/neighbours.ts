import { ApiRefusal } from './answers.js';

/** The operations of the interface (section 4), with their methods. */
const OPERATIONS: Readonly<Record<string, string>> = { 'bill/create': 'POST', 'bill/payments': 'GET' };

/** What else real clients call. Section 1 names these areas of the service but shows none of their operations. */
const NEIGHBOURS = [
  'bill/status',
  'bill/search',
  'bill/toggle_activity',
  'payment/status',
  'payment/search',
  'merchant/balance',
];

/**
 * The refusal of an address that is not served, with a message for the client and a reason for the console. `path` has
 * no query string.
 */
export function refusalOfAddress(method: string, path: string): ApiRefusal {
  const steps = path.split('/').filter((step) => step !== '');
  const name = steps.slice(-2).join('/').toLowerCase();
  const outside = `not part of this interface: ${steps.join('/').replace(/^api\/v1\//, '') || '/'}`;
  if (NEIGHBOURS.includes(name)) {
    const message = `Not Found: ${name} is outside the interface that the specification shows, and not served here`;
    return ApiRefusal.other(404, message, `not part of this interface: ${name}`);
  }
  const expected = OPERATIONS[name];
  if (expected === undefined) return ApiRefusal.other(404, 'Not Found', outside);
  const isAddress = steps.join('/') === `api/v1/${name}`;
  const why = isAddress ? `${name} takes ${expected}, not ${method}` : `${outside}; it is at /api/v1/${name}`;
  return ApiRefusal.other(404, isAddress ? `Not Found: ${why}` : 'Not Found', why);
}
