/** Bodies that anybody may send: each as large as it may be, and made of what is dear to look at. */

const TEXTS = {
  digits: '4111111111111112',
  'digits with dashes': '1-',
  'digits with blanks': '4 1 1 1 ',
  'digits with escapes': '1%20%20%20',
  'percent signs': '%20',
  'beginnings of dates': '2026-01-',
  'beginnings of UUIDs': '12345678-',
  'entities of digits': '&#49;',
  'entities between digits': '1&nbsp;',
  'digits of another script': '٤-',
  'wide digits': '４',
  'letters that grow': '\ufdfa1',
  'marks that combine': '1\u0316\u0301',
  emoji: '😀1',
  'half characters': '\ud8001',
  zeros: '\u00001',
};

/** @param {string} text @param {number} length */
const repeat = (text, length) => text.repeat(Math.max(1, Math.floor(length / text.length)));

/** @param {number} size bytes of a body as JSON, about
 * @returns {Record<string, object>} */
export function hostileBodies(size) {
  const genuine = { Status: 'SUCCESS', TrsId: 'bill-1', InvId: 'order-1', OutSum: '100.00', CurrencyIn: 'RUB' };
  const fields = (/** @type {number} */ count, /** @type {(at: number) => [string, unknown]} */ field) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => field(at)));
  /** @type {Record<string, object>} */
  const bodies = { genuine };
  for (const [name, text] of Object.entries(TEXTS)) {
    const bytes = Buffer.byteLength(JSON.stringify(text)) - 2;
    const all = Math.floor((size - 500) / bytes) * text.length;
    bodies[`one field of ${name}`] = { ...genuine, note: repeat(text, all) };
    bodies[`sixty fields of ${name}`] = { ...genuine, ...fields(58, (at) => [`n${at}`, repeat(text, all / 60)]) };
    bodies[`short fields of ${name}`] = {
      ...genuine,
      ...fields(58, (at) => [`${at}${repeat(text, 240)}`, repeat(text, 250)]),
    };
    bodies[`nested fields of ${name}`] = {
      ...genuine,
      deep: fields(60, (at) => [
        `${at}${repeat(text, 100)}`,
        fields(60, (each) => [`${each}`, repeat(text, all / 3_700)]),
      ]),
    };
    bodies[`custom of ${name}`] = { ...genuine, custom: [repeat(text, all)] };
    bodies[`an order with ${name}`] = { ...genuine, InvId: repeat(text, 250), Status: repeat(text, 60) };
  }
  const many = Math.floor(size / 12);
  bodies['many fields'] = { ...genuine, ...fields(many, (at) => [`f${at}`, 1]) };
  bodies['many numbered fields'] = { ...genuine, ...fields(many, (at) => [`${at}`, 1]) };
  bodies['many fields of custom'] = { ...genuine, custom: fields(many, (at) => [`f${at}`, 1]) };
  bodies['a list of numbers'] = { ...genuine, custom: Array.from({ length: size / 14 }, () => 411111111111) };
  bodies['lists in lists'] = { ...genuine, custom: nested(size / 3) };
  bodies['lists in lists of another field'] = { ...genuine, other: nested(size / 3) };
  bodies['wide and deep'] = { ...genuine, custom: wide(size / 2), other: wide(size / 2) };
  bodies['signature of many'] = { ...genuine, SignatureValue: wide(size / 2), Commission: wide(size / 2) };
  bodies['a long amount'] = { ...genuine, OutSum: '1'.repeat(size) };
  bodies['a long order'] = { ...genuine, InvId: '4'.repeat(size) };
  bodies['a long bill'] = { ...genuine, TrsId: '4'.repeat(size) };
  bodies['a list for a bill'] = { ...genuine, TrsId: wide(size / 2), InvId: wide(size / 2) };
  bodies['a long digest'] = { ...genuine, SignatureValue: 'A'.repeat(size) };
  bodies['a long name'] = { ...genuine, ['4111-'.repeat(size / 5)]: 1 };
  return bodies;
}

/** Forms, as they are sent.
 * @param {number} size bytes of a body
 * @returns {Record<string, string>} */
export function hostileForms(size) {
  const texts = {
    blanks: ' ',
    'line ends': '\r\n',
    'percent signs': '%',
    escapes: '%20',
    'equals signs': '=',
    ampersands: '&',
    fields: 'a=1&',
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [`a form of ${name}`, `a=1${repeat(text, size - 10)}b`]),
  );
}

/** @param {number} levels */
function nested(levels) {
  /** @type {unknown[]} */
  let list = [];
  for (let level = 0; level < Math.min(levels, 3_000); level++) list = [list, 1];
  return list;
}

/** @param {number} size */
function wide(size) {
  /** @type {unknown} */
  let value = '1-';
  for (let left = size / 7; left > 1; left /= 8) value = [value, value, value, value, value, value, value, value];
  return value;
}
