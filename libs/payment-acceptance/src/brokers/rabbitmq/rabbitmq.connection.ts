import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { describeError } from '../../common/errors.js';
import { withTimeout } from '../../common/timeout.js';
import { CLOUD_EVENT_TYPE, type PaymentCloudEvent } from '../cloud-event.js';
import type { BrokerConnection } from '../broker-link.js';
import { refusedError, unavailableError } from '../broker.errors.js';

export interface RabbitMqTarget {
  readonly url: string;
  readonly exchange: string;
  readonly routingKey: (event: PaymentCloudEvent) => string;
  readonly connection: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly connectTimeoutMs: number;
  /** Events that were in flight together when RabbitMQ refused one of them. */
  readonly suspectEventIds: Set<string>;
}

const CLOSE_TIMEOUT_MS = 1_000;

/** RabbitMQ closes the channel with ACCESS_REFUSED or PRECONDITION_FAILED when it refuses a message. */
const REJECTION_CODES = new Set([403, 406]);

export async function connectRabbitMq(target: RabbitMqTarget, resumed: () => void): Promise<BrokerConnection> {
  const { url, exchange, connection, name, connectTimeoutMs } = target;
  const clientProperties = { connection_name: name };
  const model = await connect(url, { clientProperties, noDelay: true, ...connection, timeout: connectTimeoutMs });
  let blocked = false;
  const lost = new Promise<string>((lose) => {
    model.on('error', (error) => lose(describeError(error)));
    model.on('close', (error?: unknown) => lose(error ? describeError(error) : 'it was closed.'));
  });
  // When out of memory or disk, the broker stops reading from publishers.
  model.on('blocked', () => (blocked = true));
  model.on('unblocked', () => {
    blocked = false;
    resumed();
  });
  const close = (): Promise<void> => end(model);
  try {
    const channel = await model.createConfirmChannel();
    const channelLost = new Promise<string>((lose) => {
      channel.on('error', (error) => lose(describeError(error)));
      channel.on('close', () => lose('its channel was closed.'));
    });
    await channel.checkExchange(exchange).catch((error: unknown) => {
      throw unavailableError(`The exchange "${exchange}" cannot be used: ${describeError(error)}`);
    });
    return {
      publish: publisher(channel, target),
      get ready() {
        return !blocked;
      },
      lost: Promise.race([lost, channelLost]),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function publisher(
  channel: ConfirmChannel,
  { exchange, routingKey, suspectEventIds: suspects }: RabbitMqTarget,
): BrokerConnection['publish'] {
  /** Reasons by message id. The broker returns an unroutable message before it confirms it. */
  const returned = new Map<string, string>();
  /** Whether the channel is closed, and whether a message caused that: too large, or a forbidden topic. */
  let closed = false;
  let rejected = false;
  let unconfirmed = 0;
  let isAlone = false;
  channel.on('error', ({ code }: { code?: number }) => {
    rejected = code !== undefined && REJECTION_CODES.has(code);
    isAlone = unconfirmed === 1;
  });
  // Must run before amqplib's own listener, which rejects every pending confirmation.
  channel.prependListener('close', () => (closed = true));
  channel.on('return', ({ fields, properties }: ReturnedMessage) =>
    returned.set(properties.messageId, fields.replyText),
  );
  return (event) =>
    new Promise<void>((resolve, reject) => {
      if (closed) throw unavailableError('Its channel was closed.');
      const key = routingKey(event);
      const options = {
        persistent: true,
        mandatory: true,
        messageId: event.id,
        type: event.type,
        contentType: CLOUD_EVENT_TYPE,
        timestamp: Math.floor(Date.parse(event.time) / 1000),
        headers: event.traceparent === undefined ? {} : { traceparent: event.traceparent },
      };
      returned.delete(event.id);
      channel.publish(exchange, key, Buffer.from(JSON.stringify(event)), options, (error: unknown) => {
        unconfirmed -= 1;
        const reason = returned.get(event.id);
        returned.delete(event.id);
        if (error) {
          // If several were in flight, it is unknown which one was refused: presumably the one that is in flight again
          // at the next refusal.
          const isSuspect = suspects.delete(event.id);
          const isUnanswered = closed && !(rejected && (isAlone || isSuspect));
          if (isUnanswered && rejected) suspects.add(event.id);
          const kind = isUnanswered ? unavailableError : refusedError;
          reject(kind(`RabbitMQ did not confirm the event: ${describeError(error)}`));
        } else if (reason === undefined) {
          suspects.delete(event.id);
          resolve();
        } else
          reject(
            refusedError(
              `No queue bound to the exchange "${exchange}" matches the routing key "${key}" (${reason}). Bind one.`,
            ),
          );
      });
      // Counted only now: publish() throws if something cannot be encoded, such as a routing key of 256 bytes.
      unconfirmed += 1;
    });
}

interface ReturnedMessage {
  readonly fields: { readonly replyText: string };
  readonly properties: { readonly messageId: string };
}

async function end(model: ChannelModel): Promise<void> {
  const { stream } = model.connection as unknown as { stream?: { destroy(error: Error): void } };
  await withTimeout(CLOSE_TIMEOUT_MS, model.close()).catch(() => undefined);
  // If it is not destroyed with an error, amqplib does not notice and goes on sending heartbeats.
  stream?.destroy(new Error('The connection was dropped.'));
}
