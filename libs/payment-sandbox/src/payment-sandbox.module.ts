import { type DynamicModule, Module } from '@nestjs/common';
import { ApiGateway } from './api/api-gateway.js';
import { ApiController } from './api/api.controller.js';
import { BillsService } from './api/bills.service.js';
import { Reception } from './api/reception.js';
import { AssetsController } from './assets.controller.js';
import { PostbacksService } from './callbacks/postbacks.service.js';
import { Probes } from './callbacks/probes.js';
import { ShopCheckService } from './callbacks/shop-check.service.js';
import { ConsoleActionsController } from './console/actions.controller.js';
import { ConsoleController } from './console/console.controller.js';
import { seedShops } from './console/first-shops.js';
import { ConsolePagesController } from './console/pages.controller.js';
import { PaymentSandbox } from './console/payment-sandbox.js';
import { FaultDice } from './faults/fault-dice.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from './model/options.js';
import { PayerPagesController } from './payer-pages/payer-pages.controller.js';
import { PaymentsService } from './payments/payments.service.js';
import { Timetable } from './payments/timetable.js';
import { RequestLog } from './storage/request-log.js';
import { SandboxClock } from './storage/sandbox-clock.js';
import { SandboxStore } from './storage/store.js';

/**
 * The sandbox as a Nest module for the Express platform: its controllers are mounted at the root of the host's
 * addresses (`/api/v1/bill/create` and `/api/v1/bill/payments`, `/link`, `/transfer`, `/sandbox`), and
 * {@link PaymentSandbox} can be injected.
 */
@Module({})
export class PaymentSandboxModule {
  static forRoot(options: PaymentSandboxOptions = {}): DynamicModule {
    return {
      module: PaymentSandboxModule,
      controllers: [
        ApiController,
        AssetsController,
        PayerPagesController,
        ConsoleController,
        ConsolePagesController,
        ConsoleActionsController,
      ],
      providers: [
        { provide: SANDBOX_OPTIONS, useValue: options },
        { provide: SandboxStore, useFactory: () => openStore(options) },
        SandboxClock,
        FaultDice,
        Probes,
        PostbacksService,
        ShopCheckService,
        PaymentsService,
        Timetable,
        RequestLog,
        Reception,
        BillsService,
        ApiGateway,
        PaymentSandbox,
      ],
      exports: [PaymentSandbox],
    };
  }
}

async function openStore({ dataDir, shops = {} }: PaymentSandboxOptions): Promise<SandboxStore> {
  const store = dataDir === undefined ? new SandboxStore() : await SandboxStore.open(dataDir);
  try {
    seedShops(store, shops);
    await store.durable();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
