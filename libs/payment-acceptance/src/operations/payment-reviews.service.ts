import { Injectable } from '@nestjs/common';
import { PaymentRandom } from '../common/random.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { RecordListsStore } from './storage/records/record-lists.store.js';
import { OperatorStore } from './storage/operator.store.js';
import { ReviewsView } from './reviews-view.js';

/** {@link ReviewsView} of all shops. */
@Injectable()
export class PaymentReviews extends ReviewsView {
  /** @internal */
  constructor(
    lists: RecordListsStore,
    store: OperatorStore,
    settlement: SettlementService,
    shops: ShopRegistry,
    random: PaymentRandom,
  ) {
    super({ lists, store, settlement, shops, random }, null);
  }

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ReviewsView {
    return new ReviewsView(this.tools, this.tools.shops.named(name));
  }
}
