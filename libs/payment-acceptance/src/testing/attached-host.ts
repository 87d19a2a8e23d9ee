import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:net';
import { CALLBACK_ROUTES, type CallbackRoutes } from '../callbacks/routes.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import type { Database } from '../database/database.js';
import type { PaymentWorkers } from '../module/payment-workers.js';
import type { PaymentOperations } from '../operations/payment-operations.service.js';
import type { DeadLetter } from '../operations/records.js';
import { clearLedger } from './clear-ledger.js';
import type { SharedClock } from './shared-clock.js';
import type { CallbackUrls } from './tested-shops.js';
import { PaymentTestingError } from './testing.errors.js';

export interface AttachOptions {
  /** Path prefix of the callback routes. Default: the application's global prefix. */
  readonly prefix?: string;
  /** Addresses of the host's own callback controllers, by shop; those left out default to the module's routes. */
  readonly urls?: (shop: string, base: string) => CallbackUrls;
}

const MAX_DEAD_LETTERS = 10_000;

const MAX_WARNINGS = 10;

/** The host's application under test: its address, and its workers, driven by hand. */
export class AttachedHost {
  private readonly earlierDeadLetters = new Set<string>();

  private constructor(
    private readonly app: INestApplication,
    private readonly base: string,
    private readonly urls: AttachOptions['urls'],
  ) {}

  static async of(app: INestApplication, clock: SharedClock, options: AttachOptions): Promise<AttachedHost> {
    if (!sharesClock(app, clock)) {
      throw new PaymentTestingError(
        'The application was built without this test setup. Pass its builder through it before compile(), as in ' +
          'payments.override(Test.createTestingModule({ imports: [AppModule] })).compile().',
      );
    }
    const base = [await addressOf(app), options.prefix ?? globalPrefixOf(app)].filter(Boolean).join('/');
    const host = new AttachedHost(app, base, options.urls);
    for (const { deliveryId } of await host.deadLetters()) host.earlierDeadLetters.add(deliveryId);
    return host;
  }

  get takesCallbacks(): boolean {
    return this.role !== 'workers' || this.urls !== undefined;
  }

  callbackUrls(shop: string): CallbackUrls {
    const { redirect, postback } = this.app.get<CallbackRoutes>(CALLBACK_ROUTES, { strict: false });
    const urlOf = (path: string): string => `${this.base}/${path}/${shop}`;
    return {
      ...(redirect && { successUrl: urlOf(redirect.success), failUrl: urlOf(redirect.fail) }),
      ...(postback && { resultUrl: urlOf(postback.path) }),
      ...this.urls?.(shop, this.base),
    };
  }

  /** Runs the application's workers once; returns how much they have done. */
  async work(): Promise<number> {
    if (this.role === 'callbacks') return 0;
    const { checks, deliveries, inquiries } = this.part('PaymentWorkers') as PaymentWorkers;
    return (await checks.runOnce()) + (await deliveries.runOnce()) + (await inquiries.runOnce());
  }

  /** One sentence for each delivery that has failed and is retried later. */
  async failedDeliveries(): Promise<string[]> {
    const rows = await (this.part('Database') as Database).rows<{ event: string; consumer: string; error: string }>({})`
      SELECT d.event_name AS event, d.consumer, d.last_error AS error FROM payment_acceptance.delivery d
      WHERE d.state = 'PENDING' AND d.last_error IS NOT NULL ORDER BY d.seq LIMIT ${MAX_WARNINGS}`;
    return rows.map(({ event, consumer, error }) => `${event} to "${consumer}" has failed; retried later. ${error}`);
  }

  /** Dead letters that did not exist when the application was attached. */
  async newDeadLetters(): Promise<DeadLetter[]> {
    return (await this.deadLetters()).filter(({ deliveryId }) => !this.earlierDeadLetters.has(deliveryId));
  }

  clearLedger(): Promise<void> {
    return clearLedger(this.part('Database') as Database);
  }

  get isOpen(): boolean {
    return serverOf(this.app).listening;
  }

  async close(): Promise<void> {
    if (this.isOpen) await this.app.close();
  }

  private get role(): PaymentAcceptanceExtras['role'] {
    return this.app.get<PaymentAcceptanceExtras['role']>(PAYMENT_ROLE, { strict: false });
  }

  private deadLetters(): Promise<DeadLetter[]> {
    return (this.part('PaymentOperations') as PaymentOperations).deadLetters({}, MAX_DEAD_LETTERS);
  }

  /** By symbol, because the class is a different one in each of the two builds (ESM and CommonJS). */
  private part(name: string): unknown {
    return this.app.get(Symbol.for(`nestjs-payment-acceptance/${name}`), { strict: false });
  }
}

function sharesClock(app: INestApplication, clock: SharedClock): boolean {
  try {
    return app.get<unknown>(Symbol.for('nestjs-payment-acceptance/PaymentClock'), { strict: false }) === clock;
  } catch {
    return false;
  }
}

function serverOf(app: INestApplication): Server {
  return app.getHttpServer() as Server;
}

/** The application's address; starts it on a free port if it is not listening yet. */
async function addressOf(app: INestApplication): Promise<string> {
  const server = serverOf(app);
  if (!server.listening) await app.listen(0, '127.0.0.1');
  const address = server.address();
  if (typeof address === 'string' || address === null) {
    throw new PaymentTestingError('The application listens on a socket file. Make it listen on a local port.');
  }
  const isWildcard = ['::', '0.0.0.0'].includes(address.address);
  const host = isWildcard ? '127.0.0.1' : address.address.includes(':') ? `[${address.address}]` : address.address;
  return `${new URL(await app.getUrl()).protocol}//${host}:${address.port}`;
}

/** Nest has no public API for the prefix; `@nestjs/swagger` reads it from the same place. */
function globalPrefixOf(app: INestApplication): string {
  const { config } = app as unknown as { config?: { getGlobalPrefix?(): string } };
  return config?.getGlobalPrefix?.().replace(/^\/+|\/+$/g, '') ?? '';
}
