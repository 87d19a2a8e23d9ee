import { describe, expect, test } from '@jest/globals';
import { succeeded } from '../../../../test/support/handlers.js';
import { readPaymentEvent, UnreadablePaymentEventError } from './inbox/read-payment-event.js';
import type { AnyPaymentEvent } from '../events/consumer.js';
import { cloudEvent } from './cloud-event.js';

/** CloudEvents 1.0.2, "REQUIRED attributes" and "OPTIONAL attributes" (RFC 3986, RFC 2046, RFC 3339). */
const REQUIRED = ['id', 'source', 'specversion', 'type'];
const OPTIONAL = ['datacontenttype', 'dataschema', 'subject', 'time'];
/** Documented extensions: partitioning, distributed tracing. */
const EXTENSIONS = ['partitionkey', 'traceparent'];

const SHOP_EVENT = succeeded();
const changed = (change: Partial<AnyPaymentEvent>): AnyPaymentEvent =>
  Object.assign<object, AnyPaymentEvent, Partial<AnyPaymentEvent>>({}, SHOP_EVENT, change);
const asSent = (event: object): Record<string, unknown> => JSON.parse(JSON.stringify(event)) as Record<string, unknown>;

describe('the CloudEvent of a payment event', () => {
  test('a CloudEvent has all required attributes, and only those that CloudEvents 1.0 and its extensions define', () => {
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    for (const sent of [
      asSent(cloudEvent(SHOP_EVENT, '/a')),
      asSent(cloudEvent(SHOP_EVENT, 'https://a.example', trace)),
    ]) {
      const { data, ...attributes } = sent;
      expect(Object.keys(attributes)).toEqual(expect.arrayContaining(REQUIRED));
      for (const [name, value] of Object.entries(attributes)) {
        expect([...REQUIRED, ...OPTIONAL, ...EXTENSIONS]).toContain(name);
        expect(name).toMatch(/^[a-z0-9]{1,20}$/);
        expect(value).toEqual(expect.stringMatching(/^[^\p{Cc}]+$/u));
      }
      expect(sent['specversion']).toBe('1.0');
      expect(URL.canParse(String(sent['source']), 'https://base.example')).toBe(true);
      expect(sent['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(sent['datacontenttype']).toBe('application/json');
      expect(data).toEqual(asSent(SHOP_EVENT));
    }
    expect(cloudEvent(SHOP_EVENT, '/a', trace).traceparent).toBe(trace);
    expect('traceparent' in cloudEvent(SHOP_EVENT, '/a', null)).toBe(false);
  });

  test('the CloudEvent of a late copy has the same id and is marked late only in its data', () => {
    const late = cloudEvent(changed({ late: true }), '/a');
    expect(late.id).toBe(cloudEvent(SHOP_EVENT, '/a').id);
    expect(late.data.late).toBe(true);
  });

  test('characters that CloudEvents forbids are replaced in attributes and kept in the data', () => {
    const orderId = 'A\t1\u0085\ufdd0\u{1fffe} Ä';
    const event = cloudEvent(changed({ orderId }), '/a');
    expect(event.subject).toBe('A\ufffd1\ufffd\ufffd\ufffd Ä');
    expect(event.data.orderId).toBe(orderId);
  });
});

describe('readPaymentEvent', () => {
  const sent = JSON.stringify(cloudEvent(SHOP_EVENT, '/a'));

  test('readPaymentEvent reads bytes, text and parsed JSON', () => {
    const forms: unknown[] = [sent, Buffer.from(sent), new TextEncoder().encode(sent), JSON.parse(sent)];
    for (const form of forms) expect(readPaymentEvent(form)).toEqual(JSON.parse(sent));
  });

  test.each([
    ['', 'is not JSON.'],
    ['[]', 'is not a JSON object'],
    [undefined, 'is not a JSON object'],
    ['{}', 'is not a CloudEvent of version 1.0'],
    [{ ...asSent(cloudEvent(SHOP_EVENT, '/a')), specversion: '0.3' }, 'is not a CloudEvent of version 1.0'],
    [{ ...asSent(cloudEvent(SHOP_EVENT, '/a')), id: '', time: 5 }, 'has no id, time.'],
    [{ ...asSent(cloudEvent(SHOP_EVENT, '/a')), data: 'text' }, 'data of the CloudEvent is not an object'],
  ])('readPaymentEvent refuses a message that is not one of our events (%#)', (message, sentence) => {
    expect(() => readPaymentEvent(message)).toThrow(UnreadablePaymentEventError);
    expect(() => readPaymentEvent(message)).toThrow(sentence);
  });
});
