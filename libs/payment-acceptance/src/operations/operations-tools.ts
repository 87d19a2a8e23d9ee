import type { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import type { CallbackStore } from '../callbacks/storage/callback.store.js';
import type { PaymentServiceClient } from '../client/payment-service.client.js';
import type { PaymentRandom } from '../common/random.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import type { BillStore } from '../bills/storage/bill.store.js';
import type { DeliveryStore } from '../events/storage/delivery.store.js';
import type { ErasureStore } from './storage/erasure.store.js';
import type { OperatorStore } from './storage/operator.store.js';
import type { PastEventsStore } from './storage/past-events.store.js';
import type { RecordListsStore } from './storage/records/record-lists.store.js';
import type { StatisticsStore } from '../health/storage/statistics.store.js';
import type { LostBills } from './lost-bills.js';
import type { Workload } from '../health/workload.js';

/** Whether a shop in the records still exists. */
export interface KnownShop {
  /** Whether the options or the shop resolver have the shop; `null` while the resolver is failing. */
  readonly known: boolean | null;
}

/** Dependencies of a view. */
export interface OperationsTools {
  readonly store: OperatorStore;
  readonly statistics: StatisticsStore;
  readonly lists: RecordListsStore;
  readonly bills: BillStore;
  readonly callbacks: CallbackStore;
  readonly deliveries: DeliveryStore;
  readonly pastEvents: PastEventsStore;
  readonly erasures: ErasureStore;
  readonly client: PaymentServiceClient;
  readonly shops: ShopRegistry;
  readonly random: PaymentRandom;
  readonly overload: DroppedCallbacks;
  readonly workload: Workload;
  readonly lostBills: LostBills;
  readonly production: boolean;
}
