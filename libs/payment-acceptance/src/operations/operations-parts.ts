import { Inject, Injectable } from '@nestjs/common';
import { BillStore } from '../bills/storage/bill.store.js';
import { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentUnknownShopError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { ShopScope } from '../database/scope.js';
import { DeliveryStore } from '../events/storage/delivery.store.js';
import { StatisticsStore } from '../health/storage/statistics.store.js';
import { Workload } from '../health/workload.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { PaymentImport } from './payment-import.service.js';
import { ErasureStore } from './storage/erasure.store.js';
import { LostBillStore } from './storage/lost-bill.store.js';
import { OperatorStore } from './storage/operator.store.js';
import { PastEventsStore } from './storage/past-events.store.js';
import { BillHistoryStore } from './storage/records/bill-history.store.js';
import { FiguresStore } from './storage/records/figures.store.js';
import { RecordListsStore } from './storage/records/record-lists.store.js';

@Injectable()
export class OperationsParts {
  constructor(
    readonly store: OperatorStore,
    readonly statistics: StatisticsStore,
    readonly lists: RecordListsStore,
    readonly histories: BillHistoryStore,
    readonly figuresOfToday: FiguresStore,
    readonly bills: BillStore,
    readonly callbacks: CallbackStore,
    readonly deliveries: DeliveryStore,
    readonly pastEvents: PastEventsStore,
    readonly erasures: ErasureStore,
    readonly lostBills: LostBillStore,
    readonly importer: PaymentImport,
    readonly settlement: SettlementService,
    readonly client: PaymentServiceClient,
    readonly shops: ShopRegistry,
    readonly dropped: DroppedCallbacks,
    readonly workload: Workload,
    @Inject(RESOLVED_OPTIONS) readonly options: ResolvedOptions,
  ) {}

  /** @throws PaymentUnknownShopError also for every shop that is not in the given scope */
  narrowScope(scope: ShopScope, name: string): ShopScope {
    if (scope !== null && name !== scope) throw new PaymentUnknownShopError(name, [scope], false);
    return this.shops.requireName(name);
  }
}
