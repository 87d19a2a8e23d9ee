import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ADAPTERS } from '../support/adapters.js';
import type { AttackedShop, Bought } from './support/attacked-shop.js';
import { sendBytes, sendForm, type FormFields } from './support/sending.js';

// The comparisons are spied on, so the shop is loaded afterwards.
const crypto = process.getBuiltinModule('node:crypto');
const { createHash, timingSafeEqual } = crypto;
const compared: [number, number][] = [];
crypto.timingSafeEqual = (a, b) => {
  compared.push([a.byteLength, b.byteLength]);
  return timingSafeEqual(a, b);
};
const { startAttackedShop, TOKENS } = await import('./support/attacked-shop.js');
const { postJson } = await import('../support/http.js');

const md5 = (text: string) => createHash('md5').update(text, 'utf8').digest('hex').toUpperCase();
const digestOf = ({ id }: Bought, token: string = TOKENS.main) => md5(`100.05:${id}:${token}`);
/** `A` to `F` from another alphabet: the same length and look. */
const lookAlike = (digest: string) =>
  digest.replace(
    /[A-F0]/g,
    (letter) => ({ A: 'А', B: 'В', C: 'С', D: 'Ꭰ', E: 'Е', F: 'Ϝ', '0': '０' })[letter] ?? letter,
  );

/** Strings instead of the right digest. */
const DIGESTS: readonly (readonly [attack: string, make: (digest: string, order: Bought) => string])[] = [
  ['in lower case', (digest) => digest.toLowerCase()],
  ['in mixed case', (digest) => digest.slice(0, 16) + digest.slice(16).toLowerCase()],
  ['of 31 characters', (digest) => digest.slice(0, 31)],
  ['of 33 characters', (digest) => `${digest}0`],
  ['with a space before it', (digest) => ` ${digest}`],
  ['with a line end after it', (digest) => `${digest}\n`],
  ['with a NUL after it', (digest) => `${digest}\0`],
  ['of look-alikes, as many characters', lookAlike],
  ['of 32 characters outside ASCII', () => 'ё'.repeat(32)],
  ['of 32 halves of surrogate pairs', () => '\ud800'.repeat(32)],
  ['of 32 zeros', () => '0'.repeat(32)],
  ['twice, one after the other', (digest) => digest + digest],
  ['as a list in one text', (digest) => `["${digest}"]`],
  ['of a thousand characters', (digest) => digest.padEnd(1_000, '0')],
  ['of a token that is undefined', (_digest, order) => digestOf(order, 'undefined')],
  ['of a token that is null', (_digest, order) => digestOf(order, 'null')],
  ['of an empty token', (_digest, order) => digestOf(order, '')],
  ['of an object as token', (_digest, order) => digestOf(order, '[object Object]')],
  ["of the other shop's token", (_digest, order) => digestOf(order, TOKENS.eu)],
  ['without a token', (_digest, order) => md5(`100.05:${order.id}`)],
  ['of fields in another order', (_digest, order) => md5(`${order.id}:100.05:${TOKENS.main}`)],
  ['of no text at all', () => md5('')],
  ['that is the text undefined', () => 'undefined'],
  ['that is the text null', () => 'null'],
  ['that is the token', () => TOKENS.main],
  ['of another hash', (_digest, { id }) => createHash('sha256').update(`100.05:${id}:${TOKENS.main}`).digest('hex')],
];

/** Values other than strings instead of the right digest. */
const SHAPES: readonly (readonly [attack: string, make: (digest: string) => unknown])[] = [
  ['a list', (digest) => [digest]],
  ['a list of two', (digest) => [digest, digest]],
  ['an object', (digest) => ({ digest })],
  ['an object that tells its text', (digest) => ({ toString: digest, length: 32 })],
  ['true', () => true],
];

describe.each(ADAPTERS)('tricks with digests, on %s', (adapter) => {
  afterAll(() => {
    crypto.timingSafeEqual = timingSafeEqual;
  });

  let shop: AttackedShop;
  let order: Bought;
  let digest: string;
  let nothingChanged: () => Promise<void>;
  let fields: { InvId: string; OutSum: string; CurrencyIn: string };
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());
  beforeEach(async () => {
    order = await shop.buy();
    digest = digestOf(order);
    fields = { InvId: order.id, OutSum: '100.05', CurrencyIn: 'RUB' };
    nothingChanged = await shop.watch();
  });
  afterEach(() => nothingChanged());

  const success = () => `${shop.url}/redirect/payment/success`;
  const redirect = (pairs: FormFields) => sendForm(success(), pairs);
  const callbacks = async () => (await shop.ledger()).callbacks.filter(({ orderId }) => orderId === order.id);
  const tell = async (answer: Response) => ({
    status: answer.status,
    location: answer.headers.get('location'),
    text: await answer.text(),
  });

  test('a redirect with the right digest is accepted', async () => {
    expect((await redirect({ ...fields, SignatureValue: digest })).status).toBe(303);
    expect(await callbacks()).toMatchObject([{ digest: 'match' }]);
  });

  test('redirects with a wrong digest are all refused alike and leave nothing behind', async () => {
    const before = shop.requests();
    const plain = await tell(await redirect({ ...fields, SignatureValue: md5('wrong') }));
    expect(plain).toEqual({ status: 403, location: null, text: expect.not.stringContaining(order.id) as unknown });
    for (const [attack, make] of DIGESTS) {
      compared.length = 0;
      const answer = await tell(await redirect({ ...fields, SignatureValue: make(digest, order) }));
      expect([attack, answer]).toEqual([attack, plain]);
      // One comparison for the shop's only token, with equal lengths, whatever was sent.
      expect([attack, compared]).toEqual([attack, [[32, 32]]]);
    }
    expect(await tell(await redirect({ ...fields, InvId: 'nobodys', SignatureValue: digest }))).toEqual(plain);
    await shop.settle();
    expect([await callbacks(), shop.requests()]).toEqual([[], before]);
  });

  test('redirects with a digest that is not a string are refused, or treated as unsigned if it is empty', async () => {
    for (const [attack, make] of SHAPES) {
      const answer = await tell(await postJson(success(), { ...fields, SignatureValue: make(digest) }));
      expect([attack, answer.status, answer.location]).toEqual([attack, 400, null]);
    }
    const number = await postJson(success(), { ...fields, SignatureValue: 12345678901234567890 });
    expect(number.status).toBe(403);
    for (const SignatureValue of [null, '', undefined]) {
      const answer = await tell(await postJson(success(), { ...fields, SignatureValue }));
      expect([answer.status, answer.location]).toEqual([200, null]);
      expect(answer.text).toContain('Open your order in the shop to see its status.');
    }
    expect(await callbacks()).toEqual([]);
  });

  test('redirects with repeated fields or lists are not accepted and leave nothing behind', async () => {
    const pairs = Object.entries({ ...fields, SignatureValue: digest });
    const without = (name: string) => pairs.filter(([each]) => each !== name);
    const tricks: readonly (readonly [attack: string, pairs: FormFields])[] = [
      ...pairs.map(([name, value]) => [`${name} twice, alike`, [...pairs, [name, value]]] as const),
      ['a second OutSum', [...pairs, ['OutSum', '1.00']]],
      ['a second InvId, first', [['InvId', 'nobodys'], ...pairs]],
      ['an empty digest, then the right one', [['SignatureValue', ''], ...pairs]],
      ...pairs.map(([name, value]) => [`${name}[]`, [...without(name), [`${name}[]`, value]]] as const),
      ...pairs.map(([name, value]) => [`${name}[0]`, [...without(name), [`${name}[0]`, value]]] as const),
      ['InvId[$ne]', [...without('InvId'), ['InvId[$ne]', '']]],
      ['__proto__[InvId]', [...without('InvId'), ['__proto__[InvId]', order.id]]],
      ['constructor[prototype][InvId]', [...without('InvId'), ['constructor[prototype][InvId]', order.id]]],
    ];
    for (const [attack, trick] of tricks) {
      const { status, location } = await tell(await redirect(trick));
      // Brackets mean nothing: there is no digest, so the page is neutral.
      const expected = attack.startsWith('SignatureValue[') ? 200 : 400;
      expect([attack, status, location]).toEqual([attack, expected, null]);
    }
    expect(await callbacks()).toEqual([]);
  });

  test('redirects with the colon of the digest moved into another field reach no order', async () => {
    const [head, tail] = [order.id.slice(0, 8), order.id.slice(8)];
    for (const [OutSum, InvId, status] of [
      ['1:0', order.id, 400],
      ['100.05:', order.id, 400],
      [':100.05', order.id, 400],
      [`100.05:${head}`, tail, 400],
      [`100.05:${order.id}`, '', 400],
      ['', `100.05:${order.id}`, 400],
      // The digest matches the two fields, but there is no such order.
      ['100', `05:${order.id}`, 200],
      ['100.05', `${order.id}:`, 200],
      ['100.05', `${order.id}:${TOKENS.main}`, 200],
    ] as const) {
      const SignatureValue = md5(`${OutSum}:${InvId}:${TOKENS.main}`);
      const answer = await redirect({ ...fields, OutSum, InvId, SignatureValue });
      expect([OutSum, InvId, answer.status, answer.headers.get('location')]).toEqual([OutSum, InvId, status, null]);
    }
    const moved = await redirect({ ...fields, InvId: `${head}:${tail}`, SignatureValue: digest });
    expect([moved.status, await callbacks()]).toEqual([403, []]);
  });

  test('postbacks with a wrong digest are recorded as such and settle nothing', async () => {
    const postback = { ...fields, Status: 'SUCCESS', Commission: '0.00', TrsId: order.billId };
    const tricks = [
      ...DIGESTS.map(([attack, make]) => [attack, make(digest, order)] as const),
      ...SHAPES.map(([attack, make]) => [attack, make(digest)] as const),
      ['a number', 12345678901234567890] as const,
      ['of a hundred thousand characters, less what a body may have', digest.padEnd(90_000, '0')] as const,
    ];
    for (const [attack, SignatureValue] of tricks) {
      const { status } = await postJson(`${shop.url}/postback/payment`, { ...postback, SignatureValue });
      expect([attack, status]).toEqual([attack, 200]);
    }
    const recorded = (await callbacks()).map((callback) => callback.digest);
    expect(recorded).toEqual(tricks.map(() => 'mismatch'));
    const rows: unknown = await shop.dataSource.query('SELECT fields FROM payment_acceptance.callback');
    expect(JSON.stringify(rows)).not.toContain(digest);
  });

  test.each(['redirect/payment/success', 'redirect/payment/fail', 'postback/payment'])(
    '%s refuses a field of forty thousand nested lists, or records it as a mismatch',
    async (path) => {
      const deep = '['.repeat(40_000) + ']'.repeat(40_000);
      const rest: Record<string, unknown> = {
        ...fields,
        Status: 'SUCCESS',
        TrsId: order.billId,
        SignatureValue: digest,
      };
      for (const name of ['SignatureValue', 'custom', 'InvId', 'OutSum', 'CurrencyIn']) {
        const body = `${JSON.stringify({ ...rest, [name]: undefined }).slice(0, -1)},"${name}":${deep}}`;
        const answer = await sendBytes(`${shop.url}/${path}`, body, 'application/json');
        // A postback that names its bill is never refused; such a value matches nothing.
        expect([name, answer.status]).toEqual([name, path.startsWith('postback') ? 200 : 400]);
      }
      const recorded = (await callbacks()).map(({ digest: found, corroboration }) => [found, corroboration]);
      const agreed = { order: 'match', amount: 'match', currency: 'match', custom: 'absent' };
      const expected = [
        ['mismatch', agreed],
        ['match', { ...agreed, custom: 'mismatch' }],
        ['match', { ...agreed, currency: 'mismatch' }],
        ['mismatch', { ...agreed, amount: 'mismatch' }],
      ];
      expect(recorded).toHaveLength(path.startsWith('postback') ? expected.length : 0);
      expect(expected).toEqual(expect.arrayContaining(recorded));
    },
  );

  test('a postback whose form has two digests is recorded as a mismatch', async () => {
    const pairs = Object.entries({ ...fields, Status: 'SUCCESS', TrsId: order.billId, SignatureValue: digest });
    const answer = await sendForm(`${shop.url}/postback/payment`, [...pairs, ['SignatureValue', digest]]);
    expect([answer.status, await callbacks()]).toEqual([200, [expect.objectContaining({ digest: 'mismatch' })]]);
  });
});
