import { ApiRefusal } from './answers.js';

/** The operations of the interface (section 4), with their methods. */
const OPERATIONS: Readonly<Record<string, string>> = { 'bill/create': 'POST', 'bill/payments': 'GET' };

/** Clients expect from these what `bill/payments` returns. */
const POLLED_OPERATIONS = ['bill/status', 'bill/search', 'payment/status', 'payment/search'];

/**
 * Other operations that real clients call. Section 1 names these areas of the service but shows none of their
 * operations.
 */
const OTHER_OPERATIONS = [...POLLED_OPERATIONS, 'bill/toggle_activity', 'merchant/balance'];

/**
 * The error has a message for the client and a reason for the console.
 * @param path without the query string
 */
export function refusalOfAddress(method: string, path: string): ApiRefusal {
  const steps = path.split('/').filter((step) => step !== '');
  const name = steps.slice(-2).join('/').toLowerCase();
  const outside = `not part of this interface: ${steps.join('/').replace(/^api\/v1\//, '') || '/'}`;
  if (OTHER_OPERATIONS.includes(name)) {
    const message = `Not Found: ${name} is outside the documented interface, and not served here`;
    const suggestion = POLLED_OPERATIONS.includes(name)
      ? "; GET /api/v1/bill/payments?id=… lists a bill's payments"
      : '';
    return new ApiRefusal(404, message, `not part of this interface: ${name}${suggestion}`);
  }
  const expected = OPERATIONS[name];
  if (expected === undefined) {
    const similarOperation = Object.keys(OPERATIONS).find((operation) => isSimilar(operation, name));
    const hint = similarOperation && `; perhaps ${similarOperation} was meant, at /api/v1/${similarOperation}`;
    return new ApiRefusal(404, 'Not Found', `${outside}${hint ?? ''}`);
  }
  const isAddress = steps.join('/') === `api/v1/${name}`;
  const why = isAddress ? `${name} takes ${expected}, not ${method}` : `${outside}; it is at /api/v1/${name}`;
  return new ApiRefusal(404, isAddress ? `Not Found: ${why}` : 'Not Found', why);
}

/** Whether two texts are at most one edit apart: a character replaced, added or missing. */
function isSimilar(one: string, other: string): boolean {
  let begin = 0;
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  let end = 0;
  const maxEnd = Math.min(one.length, other.length) - begin;
  while (end < maxEnd && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return Math.max(one.length, other.length) - begin - end <= 1;
}
