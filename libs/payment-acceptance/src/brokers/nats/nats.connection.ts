import { jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect, errors, headers, RequestError, type NatsConnection } from '@nats-io/transport-node';
import { describeError } from '../../common/errors.js';
import { CLOUD_EVENT_TYPE, type PaymentCloudEvent } from '../cloud-event.js';
import type { BrokerConnection } from '../broker-link.js';
import { refusedError, unavailableError } from '../broker.errors.js';

export interface NatsTarget {
  readonly servers: string[];
  readonly stream: string;
  readonly subject: (event: PaymentCloudEvent) => string;
  readonly connection: Readonly<Record<string, unknown>>;
  /** Shown by the server; also keeps message ids of different consumers on one stream apart. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly acknowledgeTimeoutMs: number;
}

/** The link times out earlier; this timeout only ensures that no wait is unbounded. */
const MARGIN_MS = 5_000;

/** The client must not reconnect by itself: the link does that. */
export async function connectNats(target: NatsTarget): Promise<BrokerConnection> {
  const { servers, stream, connection, name, connectTimeoutMs: timeout } = target;
  const server = await connect({ name, ...connection, servers, timeout, reconnect: false });
  try {
    const manager = await jetstreamManager(server, { checkAPI: false, timeout });
    const inspectStream = async () =>
      manager.streams.info(stream).catch((error: unknown) => {
        throw unavailableError(`The stream "${stream}" cannot be used: ${describeError(error)}`);
      });
    const { config } = await inspectStream();
    if (config.no_ack)
      throw unavailableError(`The stream "${stream}" does not acknowledge messages (no_ack), so it cannot be used.`);
    // Such a stream also acknowledges what it drops because it has no consumer for it at that moment.
    if (config.retention === RetentionPolicy.Interest)
      throw unavailableError(
        `The stream "${stream}" has the retention "interest", which acknowledges messages that it drops: change it to "limits" or "workqueue".`,
      );
    return {
      ready: true,
      publish: publisher(server, target, inspectStream),
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
  inspectStream: () => Promise<unknown>,
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
      const what = `JetStream did not accept the event: ${describeError(error)}`;
      if (isUnanswered(error)) throw unavailableError(what);
      if (!hasNoResponders(error)) throw refusedError(what);
      // A stream without a leader does not respond either, but then this request fails as well.
      await inspectStream();
      throw refusedError(`No stream accepts the subject "${to}". Add the subject to the stream "${stream}".`);
    });
    // A duplicate is fine: an earlier attempt was stored, and its acknowledgement was lost.
    if (ack.stream !== stream)
      throw refusedError(`The subject "${to}" belongs to the stream "${ack.stream}", not to "${stream}".`);
  };
}

/** If nobody listens on the subject, the client claims that JetStream is off, which inspecting the stream disproves. */
function hasNoResponders(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof RequestError && cause.isNoResponders();
}

function isUnanswered(error: unknown): boolean {
  const { TimeoutError, ClosedConnectionError, DrainingConnectionError } = errors;
  const kinds = [TimeoutError, ClosedConnectionError, DrainingConnectionError];
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some((cause) => kinds.some((kind) => cause instanceof kind));
}
