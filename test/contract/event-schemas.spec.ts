import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import specs from '@asyncapi/specs';
import { Ajv } from 'ajv';
import { PaymentMicroservicesModule } from 'nestjs-payment-acceptance/microservices';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { of } from 'rxjs';
import { contractFiles } from './files.mjs';
import { Types } from './event-schemas.mjs';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';
import { startHarness } from '../support/harness.js';
import { Contract, publishedFiles } from './support/contract.js';
import { FLOW_EVENTS, wholeFlow } from './support/whole-flow.js';

type Message = { type: string; data: Record<string, unknown> } & Record<string, unknown>;

const contract = new Contract();

describe('the schemas of the events', () => {
  /** Messages as a consumer in another language parses them. */
  const received: Message[] = [];

  beforeAll(async () => {
    const take = (_pattern: unknown, message: unknown) => {
      received.push(JSON.parse(JSON.stringify(message)) as Message);
      return of(undefined);
    };
    const client = { connect: () => Promise.resolve(), emit: take };
    const harness = await startHarness({ imports: [PaymentMicroservicesModule.register({ client })] });
    await wholeFlow(harness).finally(() => harness.close());
  });

  const messageOf = (type: string): Message => {
    const message = received.find((each) => each.type === type);
    if (!message) throw new Error(`No ${type} has come.`);
    return structuredClone(message);
  };

  test('the published event schemas are those of the types', () => {
    expect(publishedFiles()).toEqual(JSON.parse(JSON.stringify(contractFiles())));
  });

  test('the event schemas describe every event of a whole flow, as a broker carries it', () => {
    expect(received.map(({ type }) => type).sort()).toEqual(FLOW_EVENTS);
    for (const message of received) {
      expect(contract.flawsOfEvent(message.type, message.data)).toEqual([]);
      expect(contract.flawsOfEvent('cloud-event', message)).toEqual([]);
      for (const broker of ['rabbitmq', 'nats']) {
        expect(contract.flawsOfMessage(`${broker}.${message.type}`, 'payload', message)).toEqual([]);
      }
    }
    const optional = received.flatMap(({ data }) => Object.keys(data));
    expect(optional).toEqual(expect.arrayContaining(['surplus', 'acceptedBy']));
  });

  test('the event schemas describe the examples of the documentation', () => {
    const document = readFileSync(resolve(import.meta.dirname, '../../docs/events.md'), 'utf8');
    const events = codeBlocks(document)
      .filter(({ language }) => language === 'json')
      .map(({ text }) => JSON.parse(text) as { name: string });
    expect(events).toHaveLength(1);
    for (const event of events) expect(contract.flawsOfEvent(event.name, event)).toEqual([]);
  });

  test.each<[string, string, object, string]>([
    ['a number for an amount', 'payment.succeeded', { amount: 100.05 }, '/amount must be string'],
    ['an amount with one decimal', 'payment.succeeded', { amount: '100.5' }, '/amount must match pattern'],
    ['no amount, where it succeeded', 'payment.succeeded', { amount: null }, '/amount must be string'],
    ['no id', 'payment.failed', { id: undefined }, "must have required property 'id'"],
    ['an id that is none', 'payment.failed', { id: '17' }, '/id must match format "uuid"'],
    ['half an attempt', 'payment.failed', { attempt: 1.5 }, '/attempt must be integer'],
    ['another name', 'payment.review', { name: 'payment.succeeded' }, '/name must be equal to constant'],
    ['a later version', 'payment.review', { version: 2 }, '/version must be equal to constant'],
    [
      'a state that no bill has',
      'bill.expired',
      { billState: 'FROZEN' },
      '/billState must be equal to one of the allowed values',
    ],
    ['a time that is none', 'bill.expired', { occurredAt: 'yesterday' }, '/occurredAt must match format "date-time"'],
  ])('the event schemas refuse %s', (_, name, change, flaw) => {
    const message = messageOf(name);
    message.data = JSON.parse(JSON.stringify({ ...message.data, ...change })) as Message['data'];
    expect(contract.flawsOfEvent(name, message.data)).toEqual([expect.stringContaining(flaw)]);
    const ofMessage = contract.flawsOfMessage(`rabbitmq.${name}`, 'payload', message);
    expect(ofMessage).toEqual([expect.stringContaining(flaw)]);
  });

  test('the event schemas refuse a broker message with other headers or properties than they describe', () => {
    const id = '0d1c4f0e-6a57-5b8e-9a0b-3c5d2e1f4a6b';
    const contentType = 'application/cloudevents+json; charset=utf-8';
    const ofNats = (headers: object) => contract.flawsOfMessage('nats.payment.failed', 'headers', headers);
    expect(ofNats({ 'Nats-Msg-Id': `nats:${id}`, 'Content-Type': contentType })).toEqual([]);
    expect(ofNats({ 'Nats-Msg-Id': id, 'Content-Type': 'text/plain' })).toHaveLength(2);
    const properties = {
      message_id: id,
      type: 'payment.failed',
      content_type: contentType,
      timestamp: 1,
      delivery_mode: 2,
    };
    const ofRabbitMq = (change: object) =>
      contract.flawsOfMessage('rabbitmq.payment.failed', 'x-amqp-properties', { ...properties, ...change });
    expect(ofRabbitMq({})).toEqual([]);
    expect(ofRabbitMq({ message_id: 'nats', type: 'payment.review', timestamp: 1.5, delivery_mode: 1 })).toHaveLength(
      4,
    );
  });

  test('the event schemas accept a reason of a custom judge, and fields of a later release', () => {
    const { data } = messageOf('payment.review');
    expect(contract.flawsOfEvent('payment.review', { ...data, reason: 'looks odd', later: 1 })).toEqual([]);
  });

  test('the published event document is valid AsyncAPI 3', () => {
    const document = publishedFiles()['asyncapi.json'];
    // The official schema uses formats and keywords that say nothing here.
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(specs.schemasWithoutId['3.0.0']);
    expect([validate(document), validate.errors]).toEqual([true, null]);
    expect(validate({ ...document, channels: { payments: { address: 17 } } })).toBe(false);
  });
});

describe('schemas from types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-schemas-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function schemaOf(members: string[], more = ''): unknown {
    const file = join(folder, 'types.ts');
    writeFileSync(file, `${more}\n/** It. */ interface It {\n${members.join('\n')}\n}`);
    return new Types([file]).objectSchema('It', 'it').properties;
  }

  test('an open set of texts has its known values as examples, a closed one as an enumeration', () => {
    const types = `type Closed = 'a' | 'b'; type Open = 'a' | (string & {});`;
    expect(schemaOf(['/** C. */ closed: Closed;', '/** O. */ open?: Open;'], types)).toEqual({
      closed: { description: 'C.', type: 'string', enum: ['a', 'b'] },
      open: { description: 'O.', type: 'string', examples: ['a'] },
    });
  });

  test.each([
    ['an object', 'interface Other { a: string }', '/** It. */ it: Other;', 'Other is an object'],
    ['a list', '', '/** It. */ it: string[];', '"string[]" has no schema'],
    ['a union that is not understood', '', '/** It. */ it: string | number;', 'has no schema: teach unionSchema'],
    ['a type of another file', '', '/** It. */ it: Elsewhere;', 'Elsewhere is not declared in'],
  ])('a field whose type is %s is refused, rather than described as anything', (_, types, members, reason) => {
    expect(() => schemaOf([members], types)).toThrow(reason);
  });
});
