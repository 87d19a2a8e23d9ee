import { Injectable } from '@nestjs/common';
import { backoff } from '../common/retry.js';
import { describeError } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import type { WakeUp } from '../common/wake-ups.js';
import { Database } from './database.js';

/** Shortest pause between two NOTIFYs, which a server executes one at a time. Signals in between are sent together. */
const BATCHING_DELAY_MS = 50;

/** Timeout of the first signal, which is sent to ourselves. */
const ECHO_TIMEOUT_MS = 5_000;

/** Timeout of connecting, and of each statement. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The session idles by design, whatever the server's settings say (PostgreSQL 14 and newer). */
const KEEP_IDLE_SESSION = `SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'`;

const CLOSE_TIMEOUT_MS = 1_000;
const RETRY_BASE_MS = 1_000;
const RETRY_CAP_MS = 60_000;

interface PgClient {
  readonly connection?: {
    readonly stream?: { setKeepAlive?(on: boolean, afterMs: number): void; destroy?(): void };
  };
  connect(): Promise<void>;
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
  end(): Promise<void>;
  on(event: 'notification', listener: (message: { readonly payload?: string }) => void): void;
  on(event: 'error' | 'end', listener: () => void): void;
}

/**
 * Wakes other instances on the same database when there is work, and is woken by them, over one connection outside the
 * pool (LISTEN and NOTIFY). Nothing depends on it: the next poll finds what was missed. Gives up if notifications do
 * not arrive, as behind PgBouncer in transaction mode.
 */
@Injectable()
export class Signals {
  private readonly logger = new PaymentLogger('PaymentSignals');
  private readonly instanceId = this.random.uuid();
  private readonly waiting = new Set<WakeUp>();
  private onSignal: ((signal: WakeUp) => void) | undefined;
  private client: PgClient | undefined;
  private candidate: PgClient | undefined;
  private sendTimer: NodeJS.Timeout | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private connecting: Promise<void> | undefined;
  private sentAt = -Infinity;
  private isSending = false;
  private failures = 0;
  private stopped = false;

  constructor(
    private readonly database: Database,
    private readonly random: PaymentRandom,
  ) {}

  /** Calls `onSignal` for each signal from another instance, and for all kinds whenever some may have been missed. */
  start(onSignal: (signal: WakeUp) => void): void {
    this.onSignal = onSignal;
    this.connecting = this.connect();
  }

  /** Does not wait: signals are batched. */
  notify(signal: WakeUp): void {
    if (!this.client) return;
    this.waiting.add(signal);
    this.sendSoon();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.sendTimer);
    clearTimeout(this.retryTimer);
    // Cutting the connection fails everything that still waits for it.
    await withTimeout(CLOSE_TIMEOUT_MS, Promise.resolve(this.connecting)).catch(() => destroyClient(this.candidate));
    const { client } = this;
    this.client = undefined;
    if (client) await closeClient(client);
  }

  /** A method, since the compiler does not see that the field changes during an await. */
  private isStopped(): boolean {
    return this.stopped;
  }

  private sendSoon(): void {
    if (!this.client || this.isSending || this.waiting.size === 0) return;
    this.sendTimer ??= setTimeout(
      () => void this.send(),
      Math.max(0, this.sentAt + BATCHING_DELAY_MS - performance.now()),
    );
  }

  /** Sends one statement at a time; signals that come meanwhile are sent with the next. */
  private async send(): Promise<void> {
    this.sendTimer = undefined;
    if (!this.client) return;
    this.sentAt = performance.now();
    const payload = [this.instanceId, ...this.waiting].join(' ');
    this.waiting.clear();
    this.isSending = true;
    const { client } = this;
    const sending = client.query('SELECT pg_notify($1, $2)', [this.database.schema, payload]);
    // A connection that falls silent reports nothing itself, for a quarter of an hour.
    await withTimeout(ANSWER_TIMEOUT_MS, sending).catch(() => this.handleLoss(client));
    this.isSending = false;
    this.sendSoon();
  }

  private async connect(): Promise<void> {
    const { pg } = this.database.source;
    if (this.stopped || !pg?.Client) return;
    let client: PgClient | undefined;
    let lost: Promise<void>;
    try {
      // It may read a file of the TLS set-up, which may be gone by now.
      client = this.candidate = new pg.Client(pg.options) as PgClient;
      lost = lossOf(client);
      await withTimeout(ANSWER_TIMEOUT_MS, client.connect());
      client.connection?.stream?.setKeepAlive?.(true, 30_000);
      if (!(await this.listen(client, lost))) {
        await closeClient(client);
        this.logger.write(
          'wake-ups-unheard',
          'Wake-ups from other instances do not arrive, as happens behind PgBouncer in transaction mode: their work is found by ' +
            'polling. Set wakeUps: "poll", or lower pollMs.',
        );
        return;
      }
    } catch (error) {
      if (client) void closeClient(client);
      this.scheduleReconnect(`Cannot listen to other instances. ${describeError(error)}`);
      return;
    }
    if (this.isStopped()) return closeClient(client);
    if (this.failures > 0) this.logger.write('wake-ups-restored', 'Listening to other instances again.');
    this.failures = 0;
    this.client = client;
    void lost.then(() => this.handleLoss(client));
    // Signals sent before now were missed.
    this.onSignal?.('hint');
    this.onSignal?.('event');
  }

  /** `false` if not even our own signal comes back. */
  private async listen(client: PgClient, lost: Promise<void>): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const echo = new Promise<boolean>((resolve) => {
      client.on('notification', ({ payload = '' }) => {
        const [sender, ...signals] = payload.split(' ');
        if (sender === this.instanceId) resolve(true);
        else for (const signal of signals) if (signal === 'hint' || signal === 'event') this.onSignal?.(signal);
      });
    });
    try {
      await withTimeout(ANSWER_TIMEOUT_MS, client.query(`${KEEP_IDLE_SESSION}; LISTEN ${this.database.schema}`));
      await withTimeout(
        ANSWER_TIMEOUT_MS,
        client.query('SELECT pg_notify($1, $2)', [this.database.schema, this.instanceId]),
      );
      const connectionLost = lost.then((): never => {
        throw new Error('The connection was lost.');
      });
      // Starts only after the server has answered: a slow answer does not mean that there is a pooler.
      const noEcho = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ECHO_TIMEOUT_MS)));
      return await Promise.race([echo, connectionLost, noEcho]);
    } finally {
      clearTimeout(timer);
    }
  }

  private handleLoss(client: PgClient): void {
    if (this.client !== client) return;
    this.client = undefined;
    void closeClient(client);
    this.scheduleReconnect('The connection that listens to other instances was lost.');
  }

  private scheduleReconnect(reason: string): void {
    if (this.stopped) return;
    const pauseMs = backoff(this.failures, RETRY_BASE_MS, RETRY_CAP_MS, this.random.fraction());
    if (this.failures === 0) {
      this.logger.write(
        'wake-ups-lost',
        `${reason} Until listening works again, the work of other instances is found by polling.`,
      );
    }
    this.failures += 1;
    this.retryTimer = setTimeout(() => {
      this.connecting = this.connect();
    }, pauseMs);
  }
}

function lossOf(client: PgClient): Promise<void> {
  return new Promise((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
}

/** With a timeout, since a server that is gone never answers. */
async function closeClient(client: PgClient): Promise<void> {
  await withTimeout(CLOSE_TIMEOUT_MS, client.end()).catch(() => destroyClient(client));
}

function destroyClient(client: PgClient | undefined): void {
  client?.connection?.stream?.destroy?.();
}
