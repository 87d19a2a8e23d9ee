/** @import { Schema } from './event-schemas.mjs' */

const MEDIA_TYPE = 'application/cloudevents+json; charset=utf-8';
const TRACEPARENT = { type: 'string', description: 'Continues the trace of the settlement; absent if there is none.' };

/** What libs/payment-acceptance/src/brokers sends beside the body; the tests of the real brokers hold it against this. */
const BROKERS = {
  rabbitmq: (/** @type {string} */ event) => ({
    title: 'RabbitMQ',
    headers: { type: 'object', properties: { traceparent: TRACEPARENT } },
    message: {
      bindings: { amqp: { messageType: event, bindingVersion: '0.3.0' } },
      // AsyncAPI has no place for the properties of an AMQP message.
      'x-amqp-properties': {
        type: 'object',
        required: ['message_id', 'type', 'content_type', 'timestamp', 'delivery_mode'],
        properties: {
          message_id: { type: 'string', format: 'uuid', description: "The event's `id`: the same in every copy." },
          type: { type: 'string', const: event },
          content_type: { type: 'string', const: MEDIA_TYPE },
          timestamp: { type: 'integer', description: 'When it was settled: seconds since 1970, UTC.' },
          delivery_mode: { type: 'integer', const: 2, description: 'Persistent.' },
        },
      },
    },
    channel: {
      bindings: {
        amqp: {
          is: 'routingKey',
          exchange: { name: 'payments', type: 'topic', durable: true, autoDelete: false },
          bindingVersion: '0.3.0',
        },
      },
    },
  }),
  nats: (/** @type {string} */ _event) => ({
    title: 'NATS JetStream',
    headers: {
      type: 'object',
      required: ['Nats-Msg-Id', 'Content-Type'],
      properties: {
        'Nats-Msg-Id': {
          type: 'string',
          pattern: ':[0-9a-f-]{36}$',
          description: "The consumer's name, a colon, and the event's `id`: the same in every copy.",
        },
        'Content-Type': { type: 'string', const: MEDIA_TYPE },
        traceparent: TRACEPARENT,
      },
    },
    message: {},
    channel: {},
  }),
};

/**
 * The AsyncAPI 3 document of what RabbitMQ and NATS JetStream carry: a channel for each event and broker, with the default
 * routing key or subject. Names of exchanges and hosts are the shop's: they are examples.
 * @param {Record<string, Schema>} schemas of the events and of `cloud-event`
 */
export function asyncApi(schemas) {
  const { 'cloud-event': _envelope, ...events } = schemas;
  const sent = Object.keys(events).flatMap((event) =>
    Object.entries(BROKERS).map(([broker, describe]) => ({
      id: `${broker}.${event}`,
      event,
      broker,
      ...describe(event),
    })),
  );
  const version = events['bill.expired']?.properties?.['version']?.const;
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Events of nestjs-payment-acceptance',
      version: `${version}.0.0`,
      description:
        'Each message is one event in a CloudEvents 1.0 envelope, sent at least once: a copy has the same `id`. Fields and ' +
        'events may be added; consumers ignore those that they do not know.',
      license: { name: 'MIT' },
    },
    defaultContentType: MEDIA_TYPE,
    servers: {
      rabbitmq: { host: 'rabbitmq.example:5672', protocol: 'amqp', description: 'An example of an address.' },
      nats: { host: 'nats.example:4222', protocol: 'nats', description: 'An example of an address.' },
    },
    channels: byId(sent, ({ id, event, broker, title, channel }) => ({
      address: `${event}.{shop}`,
      title: `${event} through ${title}`,
      servers: [{ $ref: `#/servers/${broker}` }],
      parameters: { shop: { description: "Name of the shop in the module's options." } },
      messages: { event: { $ref: `#/components/messages/${id}` } },
      ...channel,
    })),
    operations: byId(sent, ({ id, event }) => ({
      action: 'send',
      summary: events[event]?.description,
      channel: { $ref: `#/channels/${id}` },
      messages: [{ $ref: `#/channels/${id}/messages/event` }],
    })),
    components: {
      messages: byId(sent, ({ event, headers, message }) => ({
        name: event,
        contentType: MEDIA_TYPE,
        headers,
        payload: {
          allOf: [
            { $ref: '#/components/schemas/cloud-event' },
            {
              type: 'object',
              properties: { type: { const: event }, data: { $ref: `#/components/schemas/${event}` } },
            },
          ],
        },
        ...message,
      })),
      schemas: Object.fromEntries(Object.entries(schemas).map(([name, { $schema: _, ...schema }]) => [name, schema])),
    },
  };
}

/**
 * @template {{ id: string }} T
 * @param {T[]} all
 * @param {(each: T) => object} describe
 */
function byId(all, describe) {
  return Object.fromEntries(all.map((each) => [each.id, describe(each)]));
}
