import type { Provider, Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { Test, type TestingModule } from '@nestjs/testing';
import { PaymentClock } from '../../libs/payment-acceptance/src/common/clock.js';
import { RESOLVED_OPTIONS } from '../../libs/payment-acceptance/src/config/resolved-options.js';
import { ShopRegistry } from '../../libs/payment-acceptance/src/config/shop-registry.js';
import { paymentEvent } from '../../libs/payment-acceptance/src/domain/payment-events.js';
import type { AnyPaymentEvent } from '../../libs/payment-acceptance/src/events/consumer.js';
import { resolved } from './units.js';

interface Parts {
  /** Providers under test. */
  explorers: Type[];
  /** The host's own providers. */
  providers?: Provider[];
  controllers?: Type[];
  /** `false` for a host without `@nestjs/event-emitter`. */
  emitter?: Parameters<typeof EventEmitterModule.forRoot>[0] | false;
}

/** A host with one shop, `main`, and without a database: enough to search for handlers. */
export function handlerModule({
  explorers,
  providers = [],
  controllers = [],
  emitter = {},
}: Parts): Promise<TestingModule> {
  return Test.createTestingModule({
    imports: [DiscoveryModule, ...(emitter === false ? [] : [EventEmitterModule.forRoot(emitter)])],
    controllers,
    providers: [
      { provide: RESOLVED_OPTIONS, useValue: resolved() },
      PaymentClock,
      ShopRegistry,
      ...explorers,
      ...providers,
    ],
  }).compile();
}

/** A `payment.succeeded` event as a consumer gets it. */
export const succeeded = (): AnyPaymentEvent =>
  paymentEvent('payment.succeeded', {
    id: '00000000-0000-8000-8000-000000000001',
    version: 1,
    shop: 'main',
    orderId: 'A-1',
    attempt: 1,
    billId: 'b-1',
    billState: 'PAID',
    billedAmount: '100.05',
    currency: 'RUB',
    custom: null,
    occurredAt: '2026-11-21T12:00:00.000Z',
    paymentId: 'p-1',
    amount: '100.05',
    amountReceived: '98.05',
    fromCard: null,
    firstForOrder: true,
  });
