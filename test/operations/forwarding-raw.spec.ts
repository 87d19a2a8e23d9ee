import { afterEach, describe, expect, test } from '@jest/globals';
import type { ForwardedPostback } from 'nestjs-payment-acceptance';
import { ADAPTERS, type Adapter } from '../support/adapters.js';
import { startHarness, type Harness } from '../support/harness.js';

let harness: Harness | undefined;

/** Starts a host and records what it forwards. */
async function start(adapter: Adapter, rawBody: boolean): Promise<ForwardedPostback[]> {
  const forwarded: ForwardedPostback[] = [];
  const forwardUnknown = (postback: ForwardedPostback) => Promise.resolve(forwarded.push(postback) > 0);
  harness = await startHarness({ adapter, rawBody, options: { callbacks: { forwardUnknown } } });
  return forwarded;
}

const post = (contentType: string, body: Uint8Array<ArrayBuffer>) =>
  fetch(`${harness!.host.url}/postback/payment`, { method: 'POST', headers: { 'content-type': contentType }, body });

/** What parsing loses: the order, escapes and their case, white space, repeated fields. */
const BODIES: [string, string, Buffer][] = [
  [
    'a form',
    'application/x-www-form-urlencoded; charset=UTF-8',
    Buffer.from('TrsId=old&%49nvId=%d0%97+1&OutSum=10.00&Status=SUCCESS&x=1&x=2&=&empty=&SignatureValue=AbC%3d'),
  ],
  [
    'JSON',
    'application/json',
    Buffer.from('{"TrsId":"old" ,\r\n\t"InvId":"\\u0417 1", "OutSum":10.00,"Status":"SUCCESS","n":1e400,"n":2 }\n'),
  ],
];

describe.each(ADAPTERS)('%s', (adapter) => {
  afterEach(() => harness?.close());

  test.each(BODIES)('forwards %s byte for byte if the host keeps raw bodies', async (_name, contentType, body) => {
    const forwarded = await start(adapter, true);
    expect((await post(contentType, new Uint8Array(body))).status).toBe(200);
    expect(forwarded).toMatchObject([{ billId: 'old', orderId: '\u0417 1', contentType }]);
    expect(forwarded[0]!.rawBody).toEqual(body);
  });

  test('forwards only the fields if the host keeps no raw bodies', async () => {
    const forwarded = await start(adapter, false);
    const [[, contentType, body]] = BODIES as [(typeof BODIES)[number]];
    expect((await post(contentType, new Uint8Array(body))).status).toBe(200);
    expect(forwarded).toMatchObject([{ billId: 'old', body: { OutSum: '10.00' } }]);
    expect(forwarded[0]).not.toHaveProperty('rawBody');
  });
});
