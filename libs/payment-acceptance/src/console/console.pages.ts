import { Injectable } from '@nestjs/common';
import { databaseText } from '../common/text.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { BILL_STATES } from '../domain/bill.js';
import { ConsoleFiguresStore } from '../storage/console/console-figures.store.js';
import { ConsoleHistoryStore } from '../storage/console/console-history.store.js';
import { ConsoleListsStore } from '../storage/console/console-lists.store.js';
import { PAGE, pageOf } from '../storage/console/console.rows.js';
import { LostBillStore } from '../storage/lost-bill.store.js';
import { filterOf } from './filter.js';
import { AGES, delaysOf } from './overview.js';
import { billPage } from './pages/bill.page.js';
import { billsPage } from './pages/bills.page.js';
import { deadLettersPage } from './pages/dead-letters.page.js';
import { logPage } from './pages/log.page.js';
import { lostBillsPage } from './pages/lost-bills.page.js';
import { overviewPage } from './pages/overview.page.js';
import { reviewsPage } from './pages/reviews.page.js';
import { unknownOutcomesPage } from './pages/unknown-outcomes.page.js';
import { notHere, type Page, type PageContext } from './page-context.js';
import { doneMessage } from './labels/done.js';

/** Reads what each page shows. */
@Injectable()
export class ConsolePages {
  constructor(
    private readonly lists: ConsoleListsStore,
    private readonly histories: ConsoleHistoryStore,
    private readonly figures: ConsoleFiguresStore,
    private readonly losses: LostBillStore,
    private readonly shops: ShopRegistry,
  ) {}

  async overview(context: PageContext): Promise<Page> {
    const [stats, shops, figures] = await Promise.all([
      context.operations.stats(),
      context.operations.shopStates(),
      this.figures.read(context.scope, AGES),
    ]);
    const refused = shops.filter(({ refusedSince }) => refusedSince !== null);
    const workload = context.operations.workload();
    return overviewPage(context, { stats, refused, workload, figures, delays: delaysOf(figures, this.shops) });
  }

  async bills(context: PageContext): Promise<Page> {
    const { query, scope } = context;
    const given = (name: string): string | undefined => databaseText(query.get(name) ?? '').trim() || undefined;
    const sought = given('q');
    const state = BILL_STATES.find((each) => each === query.get('state'));
    const shop = given('shop');
    const before = given('before');
    const [shops, bills] = await Promise.all([
      scope === null ? this.lists.shops() : [],
      sought === undefined
        ? this.lists.bills({
            scope: scope ?? shop ?? null,
            states: state === undefined ? BILL_STATES : [state],
            ...(before !== undefined && { before }),
          })
        : this.lists.search(scope, sought).then((rows) => ({ rows, more: false })),
    ]);
    return billsPage(context, { state, shop: scope === null ? shop : undefined, sought, before, bills, shops });
  }

  async bill(context: PageContext, intentId: string): Promise<Page> {
    const history = await this.histories.ofBill(context.scope, intentId);
    if (!history) throw notHere('bill');
    return billPage(context, history, doneMessage(context));
  }

  async reviews(context: PageContext): Promise<Page> {
    const reviews = await this.lists.reviews(context.scope, context.query.get('after') ?? undefined);
    return reviewsPage(context, reviews, doneMessage(context));
  }

  async deadLetters(context: PageContext): Promise<Page> {
    const { scope, query } = context;
    const filter = filterOf(query);
    const [letters, total] = await Promise.all([
      this.lists.deadLetters(scope, filter, query.get('after') ?? undefined),
      this.lists.deadLetterCount(scope, filter),
    ]);
    return deadLettersPage(context, letters, total, filter, doneMessage(context));
  }

  async unknownOutcomes(context: PageContext): Promise<Page> {
    const { scope, query } = context;
    const before = query.get('before') ?? undefined;
    const [bills, postbacks] = await Promise.all([
      this.lists.bills({ scope, states: ['UNKNOWN'], ...(before !== undefined && { before }) }),
      this.lists.waitingPostbacks(scope),
    ]);
    return unknownOutcomesPage(context, bills, postbacks, doneMessage(context));
  }

  async lostBills(context: PageContext): Promise<Page> {
    const { scope, query } = context;
    const rows = await this.losses.list(PAGE + 1, scope, query.get('after') ?? undefined);
    return lostBillsPage(context, pageOf(rows), doneMessage(context));
  }

  /** Of all shops, so it is for those only who see all of them. */
  async log(context: PageContext): Promise<Page> {
    if (context.scope !== null) throw notHere('page');
    return logPage(context, await this.lists.actions(context.query.get('before') ?? undefined));
  }
}
