import { Injectable } from '@nestjs/common';
import { BILL_STATES, type RecordPage } from 'nestjs-payment-acceptance/operations';
import { filterOf } from './common/filter.js';
import { AGES, delaysOf } from './pages/overview.js';
import { billPage } from './pages/bill.page.js';
import { billsPage } from './pages/bills.page.js';
import { deadLettersPage } from './pages/dead-letters.page.js';
import { logPage } from './pages/log.page.js';
import { lostBillsPage } from './pages/lost-bills.page.js';
import { overviewPage } from './pages/overview.page.js';
import { reviewsPage } from './pages/reviews.page.js';
import { unknownOutcomesPage } from './pages/unknown-outcomes.page.js';
import { requireFound, notFoundRefusal, type Page, type PageContext } from './common/page-context.js';
import { doneMessage } from './labels/done.js';

@Injectable()
export class ConsolePages {
  async overview(context: PageContext): Promise<Page> {
    const stats = await context.operations.stats();
    const shops = await context.operations.shopStates();
    const figures = await context.records.figures(AGES);
    const refused = shops.filter(({ refusedSince }) => refusedSince !== null);
    const workload = context.operations.workload();
    return overviewPage(context, { stats, refused, workload, figures, delays: delaysOf(figures) });
  }

  async bills(context: PageContext): Promise<Page> {
    const { query, scope, records } = context;
    const readParameter = (name: string): string | undefined => query.get(name)?.trim() || undefined;
    const searchText = readParameter('q') && (query.get('q') ?? '');
    const state = BILL_STATES.find((each) => each === query.get('state'));
    const shop = readParameter('shop');
    const before = readParameter('before');
    const [shops, bills] = await Promise.all([
      scope === null ? records.shops() : [],
      searchText === undefined
        ? records.bills({
            ...(scope === null && shop !== undefined && { shop }),
            ...(state !== undefined && { states: [state] }),
            ...(before !== undefined && { before }),
          })
        : records.searchBills(searchText).then((rows) => ({ rows, more: false })),
    ]);
    return billsPage(context, { state, shop: scope === null ? shop : undefined, searchText, before, bills, shops });
  }

  async bill(context: PageContext, intentId: string): Promise<Page> {
    return billPage(context, requireFound(await context.records.history(intentId), 'bill'), doneMessage(context));
  }

  async reviews(context: PageContext): Promise<Page> {
    const reviews = await context.reviews.list(PAGE_SIZE + 1, context.query.get('after') ?? undefined);
    return reviewsPage(context, pageOf(reviews), doneMessage(context));
  }

  async deadLetters(context: PageContext): Promise<Page> {
    const { operations, records, query } = context;
    const filter = filterOf(query);
    const [letters, total] = await Promise.all([
      operations.deadLetters(filter, PAGE_SIZE + 1, query.get('after') ?? undefined),
      records.countDeadLetters(filter),
    ]);
    return deadLettersPage(context, pageOf(letters), total, filter, doneMessage(context));
  }

  async unknownOutcomes(context: PageContext): Promise<Page> {
    const { records, query } = context;
    const before = query.get('before') ?? undefined;
    const [bills, postbacks] = await Promise.all([
      records.bills({ states: ['UNKNOWN'], ...(before !== undefined && { before }) }),
      records.waitingPostbacks(),
    ]);
    return unknownOutcomesPage(context, bills, postbacks, doneMessage(context));
  }

  async lostBills(context: PageContext): Promise<Page> {
    const bills = await context.operations.lostBills(PAGE_SIZE + 1, context.query.get('after') ?? undefined);
    return lostBillsPage(context, pageOf(bills), doneMessage(context));
  }

  /** The log covers all shops, so only operators who see all of them may read it. */
  async log(context: PageContext): Promise<Page> {
    if (context.scope !== null) throw notFoundRefusal('page');
    return logPage(context, await context.records.actions(context.query.get('before') ?? undefined));
  }
}

/** Rows per page, as in `PaymentRecords`. */
const PAGE_SIZE = 20;

/** @param rows one more than the page shows, to tell whether there are more */
function pageOf<Row>(rows: readonly Row[]): RecordPage<Row> {
  return { rows: rows.slice(0, PAGE_SIZE), more: rows.length > PAGE_SIZE };
}
