import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, errors, headers, RequestError, type NatsConnection } from '@nats-io/transport-node';
import { describeError } from '../../common/errors.js';
import { CLOUD_EVENT_TYPE, type PaymentCloudEvent } from '../../events/cloud-event.js';
import type { BrokerConnection } from '../broker-link.js';
import { refused, unavailable } from '../broker.errors.js';

export interface NatsTarget {
  readonly servers: string[];
  readonly stream: string;
  readonly subject: (event: PaymentCloudEvent) => string;
  /** Further options of `connect`. */
  readonly connection: Readonly<Record<string, unknown>>;
  /** Shown by the server; and what keeps this consumer's message ids apart from another's on the same stream. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly acknowledgeTimeoutMs: number;
}

/** The link gives up earlier: this one's only purpose is that nothing is waited for without an end. */
const MARGIN_MS = 5_000;

/** Connects, and makes sure that the stream is there. The client is not to connect again by itself: the link does. */
export async function connectNats(target: NatsTarget): Promise<BrokerConnection> {
  const { servers, stream, connection, name, connectTimeoutMs: timeout } = target;
  const server = await connect({ name, ...connection, servers, timeout, reconnect: false });
  try {
    const manager = await jetstreamManager(server, { checkAPI: false, timeout });
    const look = async () =>
      manager.streams.info(stream).catch((error: unknown) => {
        throw unavailable(`The stream "${stream}" cannot be used: ${describeError(error)}`);
      });
    const { config } = await look();
    if (config.no_ack) throw unavailable(`The stream "${stream}" acknowledges nothing (no_ack), so it cannot be used.`);
    return {
      ready: true,
      publish: publisher(server, target, look),
      lost: server.closed().then((error) => (error ? describeError(error) : 'it was closed.')),
      close: () => server.close(),
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}

function publisher(
  server: NatsConnection,
  target: NatsTarget,
  look: () => Promise<unknown>,
): BrokerConnection['publish'] {
  const { stream, subject, name, acknowledgeTimeoutMs } = target;
  const client = jetstream(server, { timeout: acknowledgeTimeoutMs + MARGIN_MS });
  return async (event) => {
    const to = subject(event);
    const fields = headers();
    fields.set('Content-Type', CLOUD_EVENT_TYPE);
    if (event.traceparent !== undefined) fields.set('traceparent', event.traceparent);
    const options = { msgID: `${name}:${event.id}`, headers: fields, expect: { streamName: stream } };
    const ack = await client.publish(to, JSON.stringify(event), options).catch(async (error: unknown) => {
      const what = `JetStream has not taken the event: ${describeError(error)}`;
      if (isUnanswered(error)) throw unavailable(what);
      if (!isUnheard(error)) throw refused(what);
      // A stream without a leader hears nothing either, and then does not answer this.
      await look();
      throw refused(`No stream takes "${to}". Add it to "${stream}".`);
    });
    // A duplicate is one that the stream has already: an earlier attempt whose acknowledgement was lost.
    if (ack.stream !== stream) throw refused(`"${to}" belongs to the stream "${ack.stream}", not to "${stream}".`);
  };
}

/** Nobody listens on the subject. The client then says that JetStream is off, which the look at the stream has disproved. */
function isUnheard(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof RequestError && cause.isNoResponders();
}

/** The connection has ended, or nobody has answered in time. */
function isUnanswered(error: unknown): boolean {
  const { TimeoutError, ClosedConnectionError, DrainingConnectionError } = errors;
  const kinds = [TimeoutError, ClosedConnectionError, DrainingConnectionError];
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some((cause) => kinds.some((kind) => cause instanceof kind));
}
