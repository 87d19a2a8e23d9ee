import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PaymentLogger } from '../common/payment-logger.js';
import { VERSION } from '../common/version.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { AddedConsumers } from '../events/added-consumers.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { EventEmitterConsumers } from '../events/event-emitter.consumer.js';
import { HandlerExplorer } from '../events/handler.explorer.js';
import { HANDLER_TRANSACTIONS } from '../events/handler-transactions.provider.js';
import { FollowedShops } from '../settlement/followed-shops.js';
import { ShopIdentities } from '../settlement/shop-identities.js';
import { Database } from '../database/database.js';
import type { HandlerTransactions } from '../database/handler-transactions.js';
import { CallbackRequests } from './callback-requests.js';
import { PaymentWorkers } from './payment-workers.js';
import { RegistrationCheck } from './registration-check.js';

const STOPPING_STATEMENT_TIMEOUT_MS = 3_000;

@Injectable()
export class PaymentAcceptanceRuntime
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly logger = new PaymentLogger('PaymentAcceptance');

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(PAYMENT_ROLE) private readonly role: NonNullable<PaymentAcceptanceExtras['role']>,
    private readonly database: Database,
    private readonly explorer: HandlerExplorer,
    private readonly emitters: EventEmitterConsumers,
    private readonly added: AddedConsumers,
    private readonly identities: ShopIdentities,
    private readonly followed: FollowedShops,
    private readonly deliveries: DeliveryWorker,
    private readonly workers: PaymentWorkers,
    @Inject(HANDLER_TRANSACTIONS) private readonly transactions: HandlerTransactions | undefined,
    private readonly http: HttpAdapterHost,
    private readonly requests: CallbackRequests,
    private readonly registration: RegistrationCheck,
  ) {}

  onModuleInit(): Promise<void> {
    return this.starting(async () => {
      this.registration.refuseSecond();
      for (const warning of this.options.warnings) this.logger.write('configuration-warning', warning);
      if (this.role !== 'callbacks') {
        this.checkPool();
        await this.transactions?.verify();
      }
      this.emitters.prepareListeners();
    });
  }

  onApplicationBootstrap(): Promise<void> {
    return this.starting(async () => {
      if (this.role === 'callbacks' && !this.options.autoStart) await this.identities.compare();
      else await this.identities.verify();
      if (this.role !== 'callbacks') {
        await this.followed.prepare();
        const handlers = this.explorer.consumers();
        this.checkTransactions(handlers.filter(({ kind }) => kind === 'transaction').length);
        await this.deliveries.host(this.added.beside([...handlers, ...this.emitters.consumers()]));
      }
      this.logStart();
      this.startWorkers();
    });
  }

  /** After a failed start, Nest calls no shutdown hooks, and open connections would keep the process alive. */
  private async starting(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      await this.database.source.close();
      throw error;
    }
  }

  /** Waits for `listen`, by which all bootstrap hooks have ended: handlers need what those of other modules prepare. */
  private startWorkers(): void {
    if (!this.options.autoStart) return;
    if (this.hasHttpServer()) this.http.listen$.subscribe(() => this.workers.start());
    else if (this.role === 'workers') this.workers.start();
  }

  /** An application context and a microservice have no HTTP server. */
  private hasHttpServer(): boolean {
    return Boolean(this.http.httpAdapter as HttpAdapterHost['httpAdapter'] | null | undefined);
  }

  private whoStartsWorkers(): string {
    if (this.role === 'callbacks' || !this.options.autoStart) return '';
    if (this.hasHttpServer()) return ' Its workers start once the application is listening.';
    if (this.role === 'workers') return '';
    return " Its workers do not run, since this application has no HTTP server: they need the role 'workers' or PaymentWorkers.start().";
  }

  private logStart(): void {
    const { role, options } = this;
    const routes = this.role === 'workers' ? [] : this.requests.locate();
    const resolverNote = options.shopResolver ? ' More shops come from the shop resolver.' : '';
    const hint = routes.length > 0 && !options.publicUrl ? ' Set the option publicUrl to see full URLs here.' : '';
    const fields = { version: VERSION, role, shops: options.shops.size, ...(routes.length > 0 && { routes }) };
    this.logger.write(
      'started',
      `nestjs-payment-acceptance is ready.${this.whoStartsWorkers()}${resolverNote}${hint}`,
      fields,
    );
  }

  /** Listeners and the database still work in this hook. */
  async beforeApplicationShutdown(): Promise<void> {
    this.database.connections.shortenTimeout(STOPPING_STATEMENT_TIMEOUT_MS);
    await this.workers.stop();
  }

  /** The application takes no more requests. */
  async onApplicationShutdown(): Promise<void> {
    await this.database.source.close();
  }

  /** Only a transaction can commit a handler's writes together with the mark that its delivery is done. */
  private checkTransactions(handlers: number): void {
    if (this.transactions || handlers === 0) return;
    throw new PaymentConfigurationError([
      'transactions: set the data layer in whose transactions the handlers run, such as prismaTransactions(prisma), since the tables ' +
        'of PaymentAcceptanceModule are not in a TypeORM data source (option storage). If the orders are in another database, ' +
        "set handlers: 'at-least-once'.",
    ]);
  }

  /** A running handler holds a connection, so a pool of one would leave none for the host. */
  private checkPool(): void {
    if (!this.transactions || this.transactions.pool.size > 1) return;
    throw new PaymentConfigurationError([
      "The data source's pool has one connection. A running handler holds it, which leaves none for the rest of the application. " +
        "Raise the pool's size (poolSize).",
    ]);
  }
}
