import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { describeError } from '../../common/errors.js';
import { withTimeout } from '../../common/timeout.js';
import { CLOUD_EVENT_TYPE, type PaymentCloudEvent } from '../../events/cloud-event.js';
import type { BrokerConnection } from '../broker-link.js';
import { refused, unavailable } from '../broker.errors.js';

export interface RabbitMqTarget {
  readonly url: string;
  readonly exchange: string;
  readonly routingKey: (event: PaymentCloudEvent) => string;
  /** Further options of `connect`. */
  readonly connection: Readonly<Record<string, unknown>>;
  /** Shown by the broker. */
  readonly name: string;
  readonly connectTimeoutMs: number;
}

const CLOSE_MS = 1_000;

/** ACCESS_REFUSED and PRECONDITION_FAILED: what RabbitMQ closes a channel with for a message that it does not take. */
const REJECTIONS = new Set([403, 406]);

/** Connects, with a channel on which the broker confirms each message, and makes sure that the exchange is there. */
export async function connectRabbitMq(target: RabbitMqTarget, resumed: () => void): Promise<BrokerConnection> {
  const { url, exchange, connection, name, connectTimeoutMs } = target;
  const clientProperties = { connection_name: name };
  const model = await connect(url, { clientProperties, noDelay: true, ...connection, timeout: connectTimeoutMs });
  let blocked = false;
  const lost = new Promise<string>((lose) => {
    model.on('error', (error) => lose(describeError(error)));
    model.on('close', (error?: unknown) => lose(error ? describeError(error) : 'it was closed.'));
  });
  // Out of memory or disk, the broker reads nothing more of who publishes.
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
      throw unavailable(`The exchange "${exchange}" cannot be used: ${describeError(error)}`);
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

function publisher(channel: ConfirmChannel, { exchange, routingKey }: RabbitMqTarget): BrokerConnection['publish'] {
  /** What came back, by message id: the broker says so before it confirms. */
  const returned = new Map<string, string>();
  /** Whether the channel is closed, and whether for what was sent on it: a message that is too large, a forbidden topic. */
  let closed = false;
  let rejected = false;
  channel.on('error', ({ code }: { code?: number }) => (rejected = code !== undefined && REJECTIONS.has(code)));
  // Before amqplib's own listener, which ends the wait for every confirmation.
  channel.prependListener('close', () => (closed = true));
  channel.on('return', ({ fields, properties }: Returned) => returned.set(properties.messageId, fields.replyText));
  return (event) =>
    new Promise<void>((resolve, reject) => {
      if (closed) throw unavailable('Its channel was closed.');
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
        const reason = returned.get(event.id);
        returned.delete(event.id);
        if (error) {
          const kind = closed && !rejected ? unavailable : refused;
          reject(kind(`RabbitMQ has not confirmed the event: ${describeError(error)}`));
        } else if (reason === undefined) resolve();
        else reject(refused(`No queue takes "${key}" of the exchange "${exchange}" (${reason}). Bind one to it.`));
      });
    });
}

/** A message that no queue has taken. */
interface Returned {
  readonly fields: { readonly replyText: string };
  readonly properties: { readonly messageId: string };
}

/** Says goodbye; and where no answer comes, goes without. */
async function end(model: ChannelModel): Promise<void> {
  const { stream } = model.connection as unknown as { stream?: { destroy(error: Error): void } };
  await withTimeout(CLOSE_MS, model.close()).catch(() => undefined);
  // Only an error tells amqplib, which would go on with its heartbeats.
  stream?.destroy(new Error('The connection is given up.'));
}
