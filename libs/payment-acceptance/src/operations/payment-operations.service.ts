import { Inject, Injectable } from '@nestjs/common';
import { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { DeliveryStore } from '../events/storage/delivery.store.js';
import { ErasureStore } from './storage/erasure.store.js';
import { PastEventsStore } from './storage/past-events.store.js';
import { OperatorStore } from './storage/operator.store.js';
import { RecordListsStore } from './storage/records/record-lists.store.js';
import { StatisticsStore } from '../health/storage/statistics.store.js';
import { LostBills } from './lost-bills.js';
import { OperationsView } from './operations-view.js';
import { Workload } from '../health/workload.js';

/** {@link OperationsView} of all shops. */
@Injectable()
export class PaymentOperations extends OperationsView {
  /** @internal */
  constructor(
    store: OperatorStore,
    statistics: StatisticsStore,
    lists: RecordListsStore,
    bills: BillStore,
    callbacks: CallbackStore,
    deliveries: DeliveryStore,
    pastEvents: PastEventsStore,
    erasures: ErasureStore,
    client: PaymentServiceClient,
    shops: ShopRegistry,
    random: PaymentRandom,
    overload: DroppedCallbacks,
    workload: Workload,
    lostBills: LostBills,
    @Inject(RESOLVED_OPTIONS) { production }: ResolvedOptions,
  ) {
    super(
      {
        store,
        statistics,
        lists,
        bills,
        callbacks,
        deliveries,
        pastEvents,
        erasures,
        client,
        shops,
        random,
        overload,
        workload,
        lostBills,
        production,
      },
      null,
    );
  }

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): OperationsView {
    return new OperationsView(this.tools, this.tools.shops.named(name));
  }
}
