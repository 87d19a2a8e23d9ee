import { Get, Param, Query, Req, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { ShopCheckService } from '../callbacks/shop-check.service.js';
import { SandboxController } from '../common/controller.js';
import { SandboxError } from '../common/errors.js';
import { ownAddress, type SandboxRequest } from '../common/http.js';
import { sendPage } from '../common/page.js';
import type { Bill } from '../model/entities.js';
import { TEST_CARDS } from '../payments/test-cards.js';
import { RequestLog } from '../storage/request-log.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { LocalOnlyGuard } from './local-only.guard.js';
import { PageRefusalFilter } from './page-refusal.filter.js';
import { billPage } from './pages/bill.page.js';
import { type BillRow, billsPage } from './pages/bills.page.js';
import { clockPage, type Upcoming } from './pages/clock.page.js';
import { faultsPage } from './pages/faults.page.js';
import { requestPage, requestsPage } from './pages/requests.page.js';
import { shopPage, shopsPage } from './pages/shops.page.js';

/** Of bills, requests or what is due, on one page. */
const MAX_SHOWN = 50;

/** The control interface as web pages. */
@SandboxController('sandbox', PageRefusalFilter, LocalOnlyGuard)
export class ConsolePagesController {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly log: RequestLog,
    private readonly shopChecks: ShopCheckService,
  ) {}

  /** A browser gets the bills; anything else gets the test cards. */
  @Get()
  first(
    @Query('q') q: unknown,
    @Query('before') before: unknown,
    @Req() request: SandboxRequest,
    @Res() response: ServerResponse,
  ): void {
    if (!request.headers.accept?.includes('text/html')) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ testCards: TEST_CARDS }));
      return;
    }
    const search = typeof q === 'string' ? q.trim().slice(0, 200) : '';
    const all = [...this.store.bills.values()].reverse();
    const start = typeof before === 'string' ? all.findIndex(({ id }) => id === before) + 1 : 0;
    const matching = all
      .slice(start)
      .filter((bill) => [bill.id, bill.orderId, bill.name, bill.description].some((text) => text.includes(search)));
    const shown = matching.slice(0, MAX_SHOWN);
    const last = matching.length > shown.length ? shown.at(-1) : undefined;
    const page = billsPage({
      rows: shown.map((bill) => this.rowOf(bill)),
      search,
      older: last
        ? `/sandbox?${new URLSearchParams({ ...(search && { q: search }), before: last.id }).toString()}`
        : null,
      faults: this.store.faults,
      now: this.clock.instant(),
      address: ownAddress(request),
      shopId: [...this.store.shops.keys()][0] ?? 'SHOP',
      refusedCreations: this.log.received.filter((each) => each.operation === 'create' && each.problem !== null).length,
    });
    sendPage(response, page, request);
  }

  @Get('console/bills/:id')
  bill(@Param('id') id: string, @Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    const page = billPage({
      ...this.rowOf(this.store.bill(id)),
      visits: this.store.visitsOf(id),
      requests: this.log.requests.filter(({ billId }) => billId === id),
    });
    sendPage(response, page, request);
  }

  /** `?problems` shows only the requests with a problem. */
  @Get('console/requests')
  requests(
    @Query('problems') problems: unknown,
    @Query('before') before: unknown,
    @Req() request: SandboxRequest,
    @Res() response: ServerResponse,
  ): void {
    const only = problems !== undefined;
    const last = typeof before === 'string' ? Number(before) : Number.POSITIVE_INFINITY;
    const matching = this.log.received.filter(({ id, problem }) => id < last && (!only || problem !== null)).reverse();
    const shown = matching.slice(0, MAX_SHOWN);
    const next = matching.length > shown.length ? shown.at(-1) : undefined;
    const page = requestsPage({
      requests: shown,
      problems: only,
      older: next ? `/sandbox/console/requests?before=${next.id}${only ? '&problems' : ''}` : null,
      address: ownAddress(request),
    });
    sendPage(response, page, request);
  }

  @Get('console/requests/:id')
  request(@Param('id') id: string, @Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    const received = this.log.received.find((each) => each.id === Number(id));
    if (!received) throw new SandboxError(404, `Unknown request ${id}: only the last 500 are kept`);
    sendPage(response, requestPage(received, ownAddress(request)), request);
  }

  @Get('console/faults')
  faults(@Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    sendPage(response, faultsPage(this.store.faults), request);
  }

  @Get('console/clock')
  clockPage(@Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    const upcoming = this.upcoming();
    const shown = upcoming.slice(0, MAX_SHOWN);
    const hiddenCount = upcoming.length - shown.length;
    sendPage(response, clockPage(this.clock.instant(), this.store.clockOffsetMs, shown, hiddenCount), request);
  }

  @Get('console/shops')
  shops(@Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    sendPage(response, shopsPage([...this.store.shops.values()]), request);
  }

  @Get('console/shops/:id')
  shop(
    @Param('id') id: string,
    @Query('saved') saved: unknown,
    @Req() request: SandboxRequest,
    @Res() response: ServerResponse,
  ): void {
    const check = this.shopChecks.last(id);
    sendPage(response, shopPage(this.store.shop(id), ownAddress(request), saved !== undefined, check), request);
  }

  private rowOf(bill: Bill): BillRow {
    const payments = this.store.paymentsOf(bill.id);
    return { bill, shop: this.store.shop(bill.shopId), payments, callbacks: this.store.callbacksOf(bill.id) };
  }

  private upcoming(): Upcoming[] {
    const statuses = [...this.store.planned.values()].flatMap(({ id, billId, plan: [next] }) =>
      next ? [{ at: next.at, billId, what: `Payment ${id} becomes ${next.status}` }] : [],
    );
    const tries = [...this.store.pending.values()].flatMap(({ id, billId, nextTryAt, tries: { length } }) => {
      const which = length === 0 ? 'is sent' : `is sent again (try ${length + 1})`;
      return nextTryAt === null ? [] : [{ at: nextTryAt, billId, what: `Postback ${id} ${which}` }];
    });
    return [...statuses, ...tries].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  }
}
