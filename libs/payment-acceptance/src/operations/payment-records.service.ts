import { Injectable } from '@nestjs/common';
import { ShopRegistry } from '../config/shop-registry.js';
import { LostBillStore } from './storage/lost-bill.store.js';
import { BillHistoryStore } from './storage/records/bill-history.store.js';
import { FiguresStore } from './storage/records/figures.store.js';
import { RecordListsStore } from './storage/records/record-lists.store.js';
import { RecordsView } from './records-view.js';

/** {@link RecordsView} of all shops. */
@Injectable()
export class PaymentRecords extends RecordsView {
  /** @internal */
  constructor(
    lists: RecordListsStore,
    histories: BillHistoryStore,
    figuresOfToday: FiguresStore,
    lost: LostBillStore,
    shops: ShopRegistry,
  ) {
    super({ lists, histories, figuresOfToday, lost, shops }, null);
  }

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): RecordsView {
    return new RecordsView(this.tools, this.tools.shops.named(name));
  }
}
