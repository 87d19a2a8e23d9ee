import { backoff } from '../common/retry.js';
import { describeError, errorType } from '../common/errors.js';
import type { PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import type { PaymentCloudEvent } from './cloud-event.js';
import { isUnavailable, unavailableError } from './broker.errors.js';

export interface BrokerConnection {
  /** Resolves only when the transport acknowledges the event. If the broker refuses it, that counts as an attempt. */
  publish(event: PaymentCloudEvent): Promise<void>;
  /** Whether the broker accepts events on this connection now: it may block its publishers. */
  readonly ready: boolean;
  /** Resolves with the reason when the connection becomes unusable. */
  readonly lost: Promise<string>;
  /** A rejection is ignored. */
  close(): Promise<void>;
}

export interface BrokerLinkOptions {
  readonly consumer: string;
  readonly connectTimeoutMs: number;
  readonly acknowledgeTimeoutMs: number;
  /** `resumed` is called when a connection that was not ready is ready again. */
  connect(resumed: () => void): Promise<BrokerConnection>;
  readonly random: PaymentRandom;
  /** Called whenever events can be sent for the first time, or again. */
  onReady(): void;
}

const RETRY_BASE_MS = 200;
const RETRY_CAP_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;

/** Keeps one connection to a broker, and reopens it whenever it is lost. */
export class BrokerLink {
  private connection: BrokerConnection | undefined;
  private connected: Promise<void> | undefined;
  private firstAttempt: Promise<void> | undefined;
  /** Events in a row that the broker left unanswered. Until it answers, it gets one event at a time. */
  private unanswered = 0;
  /** Ends the current connection or the current pause. */
  private drop: (reason: string) => void = () => undefined;
  private closing = false;
  /**
   * Fails each event in flight on the current connection. Chaining the events to the connection's `lost` promise
   * instead would leak: the promise would keep the reactions of all of them.
   */
  private readonly inFlight = new Set<(reason: string) => void>();

  constructor(
    private readonly options: BrokerLinkOptions,
    private readonly logger: PaymentLogger,
  ) {}

  connect(): void {
    if (this.closing || this.connected) return;
    this.firstAttempt = new Promise((resolve) => {
      this.connected = this.stayConnected(resolve);
    });
    void this.firstAttempt.then(() => (this.firstAttempt = undefined));
  }

  isReady(): boolean {
    return (this.connection?.ready ?? false) && !this.isProbing();
  }

  get connecting(): Promise<void> | undefined {
    return this.firstAttempt;
  }

  /** An acknowledgement may be lost with the connection, so the worker sends an unacknowledged event again. */
  async publish(event: PaymentCloudEvent, signal: AbortSignal): Promise<void> {
    const { connection } = this;
    if (!connection) throw unavailableError('There is no connection to the broker.');
    if (this.isProbing())
      throw unavailableError('The broker has not answered recently and is being probed with another event.');
    let timer: NodeJS.Timeout | undefined;
    let onAbort = (): void => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(unavailableError('The broker did not acknowledge an event in time.'));
      // Not AbortSignal.timeout: if only an AbortSignal.any refers to it, Node 20 may collect it before it fires.
      timer = setTimeout(onAbort, this.options.acknowledgeTimeoutMs);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    let onLoss = (_reason: string): void => undefined;
    const lost = new Promise<never>((_resolve, reject) => {
      onLoss = (reason) => reject(unavailableError(`The connection was lost before the acknowledgement: ${reason}`));
    });
    this.inFlight.add(onLoss);
    try {
      await Promise.race([connection.publish(event), lost, late]);
      this.onAnswered();
    } catch (error) {
      if (isUnavailable(error)) this.onUnanswered(connection, (error as Error).message);
      else this.onAnswered();
      throw error;
    } finally {
      this.inFlight.delete(onLoss);
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Closes the connection in bounded time and opens no other. */
  async close(): Promise<void> {
    this.closing = true;
    this.drop('The application is shutting down.');
    await this.connected;
  }

  private isProbing(): boolean {
    return this.unanswered > 0 && this.inFlight.size > 0;
  }

  private onAnswered(): void {
    if (this.unanswered === 0) return;
    this.unanswered = 0;
    this.options.onReady();
  }

  /** Drops a connection that left an event unanswered, unless the broker said that it is blocking its publishers. */
  private onUnanswered(connection: BrokerConnection, reason: string): void {
    if (connection !== this.connection) return;
    this.unanswered += 1;
    if (!connection.ready) return;
    this.connection = undefined;
    this.drop(reason);
  }

  private async stayConnected(onAttempt: () => void): Promise<void> {
    const { consumer } = this.options;
    for (let failures = 0; !this.closing; failures += 1) {
      const dropped = this.untilDropped();
      const connection = await this.open(failures, dropped);
      if (connection) {
        this.connection = connection;
        this.logger.write('broker-connected', `Connected: events are sent to "${consumer}".`, { consumer });
        this.options.onReady();
      }
      onAttempt();
      if (connection) {
        const reason = await Promise.race([connection.lost, dropped]);
        if (this.connection && this.inFlight.size > 0) this.unanswered += 1;
        this.connection = undefined;
        for (const lose of this.inFlight) lose(reason);
        if (!this.isClosing())
          this.logger.write('broker-lost', `"${consumer}" lost its connection: ${reason}`, { consumer });
        await this.end(connection);
        failures = this.unanswered;
      }
      if (this.isClosing()) return;
      let timer: NodeJS.Timeout | undefined;
      const pauseMs = backoff(failures, RETRY_BASE_MS, RETRY_CAP_MS, this.options.random.fraction());
      const pause = new Promise((resolve) => (timer = setTimeout(resolve, pauseMs)));
      await Promise.race([pause, this.untilDropped()]).finally(() => clearTimeout(timer));
    }
  }

  private async open(failures: number, dropped: Promise<string>): Promise<BrokerConnection | undefined> {
    const { consumer, connectTimeoutMs } = this.options;
    const opening = this.options.connect(() => this.options.onReady());
    try {
      const limited = withTimeout(connectTimeoutMs, opening, 'The broker');
      const connection = await Promise.race([limited, dropped.then(() => undefined)]);
      if (!connection) limited.catch(() => undefined);
      else return connection;
    } catch (error) {
      // Logged once: further failed attempts add nothing, and a lost connection has already been logged.
      if (failures === 0) {
        const line = `"${consumer}" cannot connect; its events are queued. ${describeError(error)}`;
        this.logger.write('broker-unreachable', line, { consumer, error: errorType(error) });
      }
    }
    // Nobody uses a connection that is opened too late.
    void opening.then((late) => this.end(late)).catch(() => undefined);
    return undefined;
  }

  private async end(connection: BrokerConnection): Promise<void> {
    await withTimeout(CLOSE_TIMEOUT_MS, connection.close(), 'The broker').catch(() => undefined);
  }

  private isClosing(): boolean {
    return this.closing;
  }

  private untilDropped(): Promise<string> {
    return new Promise((resolve) => (this.drop = resolve));
  }
}
