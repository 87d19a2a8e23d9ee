import { Controller, Get, Param, Query, Req, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { ShopCheckService } from '../callbacks/shop-check.service.js';
import { SandboxError } from '../common/errors.js';
import { ownAddress, type SandboxRequest } from '../common/http.js';
import { LeftOutOfOpenApi } from '../common/left-out-of-open-api.js';
import { sendPage } from '../common/page.js';
import { TEST_CARDS } from '../payments/test-cards.js';
import { ReceivedRequests } from '../storage/received-requests.js';
import { RequestLog } from '../storage/request-log.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { LocalOnlyGuard } from './local-only.guard.js';
import { PageRefusalFilter } from './page-refusal.filter.js';
import { billPage } from './pages/bill.page.js';
import { billsPage } from './pages/bills.page.js';
import { clockPage, type Upcoming } from './pages/clock.page.js';
import { faultsPage } from './pages/faults.page.js';
import { requestPage, requestsPage } from './pages/requests.page.js';
import { shopPage, shopsPage } from './pages/shops.page.js';

const MAX_SHOWN_BILLS = 50;
const MAX_SHOWN_REQUESTS = 50;
const MAX_SHOWN_UPCOMING = 50;

/** The control interface as web pages. */
@LeftOutOfOpenApi()
@Controller('sandbox')
@UseGuards(LocalOnlyGuard)
@UseFilters(PageRefusalFilter)
export class ConsolePagesController {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly log: RequestLog,
    private readonly received: ReceivedRequests,
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
    const shown = matching.slice(0, MAX_SHOWN_BILLS);
    const last = matching.length > shown.length ? shown.at(-1) : undefined;
    const page = billsPage({
      rows: shown.map((bill) => ({
        bill,
        shop: this.store.shops.get(bill.shopId),
        payments: this.store.paymentsOf(bill.id),
        callbacks: this.store.callbacksOf(bill.id),
      })),
      search,
      older: last
        ? `/sandbox?${new URLSearchParams({ ...(search && { q: search }), before: last.id }).toString()}`
        : null,
      faults: this.store.faults,
      now: this.clock.instant(),
      address: ownAddress(request),
      shopId: [...this.store.shops.keys()][0] ?? 'SHOP',
      refusedCreations: this.received.all.filter(({ operation, problem }) => operation === 'create' && problem !== null)
        .length,
    });
    sendPage(response, page, request);
  }

  @Get('console/bills/:id')
  bill(@Param('id') id: string, @Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    const bill = this.store.bills.get(id);
    if (!bill) throw new SandboxError(404, `There is no bill ${id}`);
    const page = billPage({
      bill,
      shop: this.store.shops.get(bill.shopId),
      payments: this.store.paymentsOf(id),
      callbacks: this.store.callbacksOf(id),
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
    const matching = this.received.all.filter(({ id, problem }) => id < last && (!only || problem !== null)).reverse();
    const shown = matching.slice(0, MAX_SHOWN_REQUESTS);
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
    const received = this.received.get(Number(id));
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
    const shown = upcoming.slice(0, MAX_SHOWN_UPCOMING);
    sendPage(
      response,
      clockPage(this.clock.instant(), this.store.clockOffsetMs, shown, upcoming.length - shown.length),
      request,
    );
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
    const shop = this.store.shops.get(id);
    if (!shop) throw new SandboxError(404, `There is no shop ${id}`);
    sendPage(response, shopPage(shop, ownAddress(request), saved !== undefined, this.shopChecks.last(id)), request);
  }

  private upcoming(): Upcoming[] {
    const statuses = [...this.store.planned].flatMap((id) => {
      const payment = this.store.payments.get(id);
      const next = payment?.plan[0];
      return payment && next
        ? [{ at: next.at, billId: payment.billId, what: `Payment ${id} becomes ${next.status}` }]
        : [];
    });
    const tries = [...this.store.pending].flatMap((id) => {
      const callback = this.store.callbacks.get(id);
      const which =
        callback && (callback.tries.length === 0 ? 'is sent' : `is sent again (try ${callback.tries.length + 1})`);
      return callback?.nextTryAt && which
        ? [{ at: callback.nextTryAt, billId: callback.billId, what: `Postback ${id} ${which}` }]
        : [];
    });
    return [...statuses, ...tries].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  }
}
