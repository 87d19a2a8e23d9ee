import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { postbackFields } from '../support/http.js';
import { SEED } from '../support/seed.js';
import { ADAPTERS } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';

/** `FUZZ_MINUTES=5 FUZZ_SEED=1 npm test -- attacks/fuzz` runs for minutes; without them it ends within seconds. */
const MINUTES = Number(process.env.FUZZ_MINUTES ?? 0);
const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? SEED);
const RUNS = 250;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Far longer than an answer takes, even on a busy machine. */
const HANG_MS = 20_000;
const MS_OF_EACH = (MINUTES * 60_000) / ADAPTERS.length;

type Fields = Readonly<Record<string, string>>;

interface Body {
  readonly type: string | undefined;
  readonly body: Uint8Array;
}

interface Sent extends Body {
  readonly route: string;
  readonly encoding: string | undefined;
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom('', ' ', '\0', '0', '-1', '1e999', 'NaN', '100.05', 'SUCCESS', 'FAIL', 'RUB', 'main', '__proto__'),
  fc.constantFrom('\0', '\ud800', '\0\ud800'),
  fc.constantFrom('\u202e', '%00', '%zz', "' OR 1=1 --", '<script>', '${x}', '{{x}}', '../..', '\r\nx: y'),
  fc.integer({ min: 1, max: 20_000 }).map((length) => 'x'.repeat(length)),
);
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('InvId', 'OutSum', 'TrsId', 'Status', 'CurrencyIn', 'custom', 'SignatureValue') },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'then', 'toJSON', 'length') },
  { weight: 1, arbitrary: text },
); // prettier-ignore
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    text,
    fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map((pairs) => Object.fromEntries(pairs)),
  ),
}));
/** Some parsers turn form fields into lists and objects. */
const path = fc
  .tuple(name, fc.array(fc.oneof(fc.constantFrom('', '0', '99999', '__proto__', 'a'), text), { maxLength: 3 }))
  .map(([first, more]) => [first, ...more.map((part) => `[${part}]`)].join(''));

/** The given bytes with some removed, changed or inserted. */
const damaged = (bytes: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.uint8Array({ maxLength: 8 })), { minLength: 1, maxLength: 4 })
    .map((cuts) =>
      cuts.reduce<Uint8Array>((left, [at, lost, put]) => {
        const place = at % (left.length + 1);
        return Buffer.concat([left.subarray(0, place), put, left.subarray(place + lost)]);
      }, bytes),
    );

/** Content types to send a body with, right or wrong. */
const types = fc.constantFrom(
  undefined,
  JSON_TYPE,
  FORM_TYPE,
  'application/json; charset=utf-16',
  'application/json;',
  'application/json, text/plain',
  'text/plain',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  '*/*',
  '/',
);

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

function bodies(genuine: Fields): fc.Arbitrary<Body> {
  /** None, some or all of the fields that the service sends. */
  const beside = fc.constantFrom('nothing', 'replaced', 'whole');
  const json = fc.tuple(fc.array(fc.tuple(name, value), { maxLength: 8 }), beside).map(([pairs, how]) =>
    JSON.stringify({
      ...(how === 'replaced' && genuine),
      ...Object.fromEntries(pairs),
      ...(how === 'whole' && genuine),
    }),
  );
  const form = fc.tuple(fc.array(fc.tuple(path, text), { maxLength: 8 }), beside).map(([pairs, how]) => {
    const own = Object.entries(genuine);
    const more = pairs.filter(([first]) => how === 'replaced' || !own.some(([known]) => first.startsWith(known)));
    return new URLSearchParams([...(how === 'nothing' ? [] : own), ...more]).toString();
  });
  const nested = fc
    .tuple(
      fc.constantFrom('InvId', 'custom', 'more'),
      fc.constantFrom(10, 100, 1_000, 12_000),
      fc.constantFrom('[]', '{"a":}'),
    )
    .map(([field, depth, pair]) => {
      const deep = pair.slice(0, -1).repeat(depth) + '0' + pair.slice(-1).repeat(depth);
      return `${JSON.stringify(genuine).slice(0, -1)},"${field}":${deep}}`;
    });
  /** A body from the service with the end of one field changed. */
  const touched = fc
    .tuple(fc.constantFrom(...Object.keys(genuine)), text)
    .map(([field, end]) => ({ ...genuine, [field]: genuine[field]! + end }));
  const of = (type: string, body: fc.Arbitrary<string>): fc.Arbitrary<Body> =>
    body.map((one) => ({ type, body: Buffer.from(one) }));
  const good = fc.oneof(
    { weight: 3, arbitrary: of(JSON_TYPE, json) },
    { weight: 3, arbitrary: of(FORM_TYPE, form) },
    { weight: 1, arbitrary: of(JSON_TYPE, value.map((one) => JSON.stringify(one))) },
    { weight: 1, arbitrary: of(JSON_TYPE, nested) },
    { weight: 2, arbitrary: of(JSON_TYPE, touched.map((one) => JSON.stringify(one))) },
    { weight: 1, arbitrary: of(FORM_TYPE, touched.map((one) => new URLSearchParams(one).toString())) },
  ); // prettier-ignore
  return fc.oneof(
    { weight: 5, arbitrary: good },
    { weight: 2, arbitrary: good.chain(({ type, body }) => damaged(body).map((less) => ({ type, body: less }))) },
    { weight: 1, arbitrary: fc.record({ type: types, body: fc.uint8Array({ maxLength: 2_000 }) }) },
  );
}

const routes = fc
  .tuple(
    fc.constantFrom('/postback/payment', '/redirect/payment/success', '/redirect/payment/fail'),
    seldom(fc.constantFrom('/main', '/eu', '/none')),
    seldom(text),
  )
  .map(([route, shop = '', query]) => {
    const asked = query === undefined ? '' : `?${encodeURIComponent(query.toWellFormed().slice(0, 2_000))}`;
    return route + shop + asked;
  });

function anything(genuine: Fields): fc.Arbitrary<Sent> {
  const instead = seldom(fc.record({ type: types }));
  const encodings = seldom(fc.constantFrom('gzip', 'packed', 'deflate', 'br', 'identity', 'x'));
  return fc.tuple(routes, bodies(genuine), instead, encodings).map(([route, sent, other, encoding]) => {
    const packed = encoding === 'packed' && { encoding: 'gzip', body: gzipSync(sent.body) };
    return { route, encoding, ...sent, ...other, ...packed };
  });
}

describe.each(ADAPTERS)('whatever is sent to the callback routes, on %s', (adapter) => {
  let shop: AttackedShop;
  let bought: Bought;
  beforeAll(async () => {
    // No limit refuses anything here, so each 5xx is a bug.
    const callbacks = { maxUnmatched: 1_000_000, storeTimeoutMs: 60_000 };
    shop = await startAttackedShop(adapter, { options: { callbacks } });
    bought = await shop.buy();
  });
  afterAll(() => shop.close());

  /** The status; 0 if the server hung up in the middle. */
  async function send({ route, type, encoding, body }: Sent): Promise<number> {
    try {
      const answer = await fetch(shop.url + route, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: {
          ...(type !== undefined && { 'content-type': type }),
          ...(encoding !== undefined && { 'content-encoding': encoding }),
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(HANG_MS),
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch (error) {
      if (error instanceof DOMException) throw new Error(`There was no answer within ${HANG_MS} ms.`, { cause: error });
      return 0;
    }
  }

  test(
    `any request to a callback route gets an answer below 500 and changes nothing (seed ${FUZZ_SEED})`,
    async () => {
      const { id, billId } = bought;
      const genuine = postbackFields({ InvId: id, OutSum: '100.05', TrsId: billId }, TOKENS.main);
      const nothingChanged = await shop.watch();
      const statuses: Record<number, number> = {};
      await fc.assert(
        fc.asyncProperty(anything(genuine), async (sent) => {
          const status = await send(sent);
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (status >= 500) throw new Error(`${status}: ${Buffer.from(sent.body).toString('latin1')}`);
          if (Object.keys(Object.prototype).length > 0) throw new Error('Object.prototype is polluted.');
        }),
        MINUTES > 0
          ? { seed: FUZZ_SEED, numRuns: 2 ** 31 - 1, interruptAfterTimeLimit: MS_OF_EACH }
          : { seed: FUZZ_SEED, numRuns: RUNS },
      );
      // Both accepted and refused bodies have occurred.
      expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '303', '400']));
      expect(
        await send({
          route: '/postback/payment',
          type: 'application/json',
          encoding: undefined,
          body: Buffer.from(JSON.stringify(genuine)),
        }),
      ).toBe(200);
      await nothingChanged();
      if (MINUTES > 0) process.stdout.write(`fuzz on ${adapter}: ${JSON.stringify(statuses)} (seed ${FUZZ_SEED})\n`);
    },
    MS_OF_EACH + 90_000,
  );
});
