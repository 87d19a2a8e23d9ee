import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  Catch,
  Injectable,
  ValidationPipe,
  VersioningType,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { map, type Observable } from 'rxjs';
import { ADAPTERS, ONE_ADAPTER } from '../support/adapters.js';
import { setCallbacks, startHarness, type Harness } from '../support/harness.js';
import { linksOf, Operator } from './support/operator.js';
import { Bookkeeper, record, type Records } from './support/records.js';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
};

/** Follows every link from the first page on; gives the addresses that answered, with their statuses. */
async function crawl(operator: Operator): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const waiting = [operator.home];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (seen.has(url)) continue;
    const page = await operator.follow({ url } as Parameters<Operator['follow']>[0], url);
    seen.set(url, page.status);
    if (page.headers.get('content-type')?.startsWith('text/html')) {
      expect(Object.fromEntries(page.headers)).toMatchObject(HEADERS);
      waiting.push(...linksOf(page));
    }
  }
  return seen;
}

describe.each(ONE_ADAPTER)('the console, on %s', (adapter) => {
  let harness: Harness;
  let main: Records;
  let operator: Operator;
  const open = async (path = ''): Promise<string> => {
    const { status, text } = await operator.open(path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  const billId = (): string => harness.sandbox.bills().find(({ orderId }) => orderId === 'main-paid')!.id;
  beforeAll(async () => {
    harness = await startHarness({
      adapter,
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register()],
      options: { http: { attempts: 1 } },
    });
    main = await record(harness, 'main');
    operator = new Operator(`${harness.host.url}/payment-console`);
  });
  afterAll(() => harness.close());

  test('every link reachable from the overview leads to a page of the console', async () => {
    const seen = await crawl(operator);
    expect([...seen.values()].filter((status) => status !== 200)).toEqual([]);
    const below = [...seen.keys()].map((url) => url.slice(operator.home.length + 1).replace(/\?.*/, ''));
    expect([...new Set(below)].filter((path) => !path.startsWith('assets/')).sort()).toEqual(
      [
        '',
        'bills',
        ...[main.paid, main.short, main.dead, main.lost].map((id) => `bills/${id}`),
        'reviews',
        'dead-letters',
        'unknown-outcomes',
        'lost-bills',
        'log',
        `actions/accept-review/${main.review}`,
        `actions/dismiss-review/${main.review}`,
        'actions/replay/all',
        `actions/replay/${main.deadLetter}`,
        `actions/attach-bill/${main.lost}`,
        `actions/void-bill/${main.lost}`,
      ].sort(),
    );
    expect([...seen.keys()].every((url) => url.startsWith(operator.home))).toBe(true);
  });

  test('the stylesheet is cached by browsers, under a name that changes with its content', async () => {
    const page = await operator.open();
    const style = await operator.follow(
      page,
      linksOf(page).find((link) => link.endsWith('.css'))!,
    );
    expect(style.url).toMatch(/\/assets\/style-[0-9a-f]{16}\.css$/);
    expect(Object.fromEntries(style.headers)).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'private, max-age=31536000, immutable',
    });
    const other = await operator.open('assets/style-0000000000000000.css');
    expect([other.status, other.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test('the overview says what needs attention, and how the day went', async () => {
    const text = await open();
    expect(text).toContain('3 things need attention.');
    expect(text).toContain('Open reviews 1');
    expect(text).toContain('Dead letters 1');
    expect(text).toContain('Unknown outcomes 1');
    expect(text).toContain('Postbacks without a bill 1');
    expect(text).toContain('2 open 1 paid 1 unknown outcome');
    expect(text).toMatch(/: 1 succeeded .*: 1 failed .*: 1 to be reviewed/);
    expect(text).toContain('PaymentServiceNetworkError creation 1');
    expect(text).toContain('PaymentNonRetryableError orders 1');
  });

  test.each([
    ['its order', () => 'main-paid'],
    ['the intent', () => main.paid],
    ['the bill', billId],
    ['the payment', () => harness.sandbox.bill(billId()).payments[0]!.id],
  ])('a bill is found by %s', async (_name, text) => {
    expect(await open(`bills?q=%20${text()}`)).toMatch(/1 bill found for .* main-paid paid 100\.05 RUB main /);
    expect(await open(`bills?q=${text().slice(1)}`)).toContain('0 bills found');
  });

  test('bills are listed by state and shop, the newest first', async () => {
    const orders = async (query: string) => (await open(`bills${query}`)).match(/(?:main|eu)-\w+(?= [a-z])/g) ?? [];
    expect(await orders('')).toEqual(['main-lost', 'main-dead', 'main-short', 'main-paid']);
    expect(await orders('?state=OPEN')).toEqual(['main-dead', 'main-short']);
    expect(await orders('?state=nonsense&before=nonsense')).toHaveLength(4);
    expect(await orders('?shop=eu')).toEqual([]);
    expect(await orders('?shop=main&state=PAID')).toEqual(['main-paid']);
  });

  test('an unknown outcome, a review and a dead letter say why they are there, and what to do', async () => {
    expect(await open('unknown-outcomes')).toMatch(
      /void the attempt\. .*main-lost .*PaymentServiceNetworkError.* Attach… .*Void…/,
    );
    expect(await open('unknown-outcomes')).toContain('Postbacks that name none of our bills');
    expect(await open('reviews')).toMatch(
      /underpaid .*Billed 100\.05 RUB.*SUCCESS, 99\.00 RUB.*What to do: Accept it if/,
    );
    expect(await open('dead-letters')).toMatch(
      /main-dead .*payment\.failed.*orders.*this order is unknown here.*1 attempt/,
    );
    expect(await open('dead-letters?consumer=mail')).toContain('No dead letters match.');
    expect(await open('dead-letters?consumer=orders&event=payment.failed&orderId=main-dead&shop=main')).toContain(
      'Replay these 1…',
    );
  });

  test.each([
    'bills/nothing',
    'bills/9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
    'actions/accept-review/x',
    'actions/replay/x',
  ])('a missing record at %s gets 404 on a page of the console', async (path) => {
    const { status, text, headers } = await operator.open(path);
    expect([status, text]).toEqual([404, expect.stringContaining('There is no such')]);
    expect(Object.fromEntries(headers)).toMatchObject(HEADERS);
  });

  test('records that cannot be read are reported as such', async () => {
    const { dataSource } = harness.host;
    await dataSource.query(`ALTER TABLE payment_acceptance.review RENAME TO review_away`);
    const { status, text } = await operator.open('reviews');
    await dataSource.query(`ALTER TABLE payment_acceptance.review_away RENAME TO review`);
    expect([status, text]).toEqual([503, expect.stringContaining('The records could not be read.')]);
    expect(text).not.toMatch(/payment_acceptance|relation|does not exist/);
  });
});

@Injectable()
class WrappingInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ statusCode: 200, data })));
  }
}

@Catch()
class TeapotFilter implements ExceptionFilter {
  catch(_error: unknown, host: Parameters<ExceptionFilter['catch']>[1]): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: string): void } }>();
    response.status(418).send('teapot');
  }
}

describe.each(ADAPTERS)('the console in a host, on %s', (adapter) => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('the console works in a host with a prefix, versions, a strict pipe, an interceptor and a filter', async () => {
    harness = await startHarness({
      adapter,
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register({ path: '/admin/payments/' })],
      options: { http: { attempts: 1 } },
      prepare: (app) =>
        app
          .setGlobalPrefix('api')
          .enableVersioning({ type: VersioningType.URI, defaultVersion: '1' })
          .useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }))
          .useGlobalInterceptors(new WrappingInterceptor())
          .useGlobalFilters(new TeapotFilter()),
    });
    await setCallbacks(harness.sandbox, harness.host.url, 'api');
    const { review } = await record(harness, 'main');
    const operator = new Operator(`${harness.host.url}/api/admin/payments`);
    expect([...(await crawl(operator)).values()].filter((status) => status !== 200)).toEqual([]);
    expect((await operator.open('bills/nothing')).status).toBe(404);
    const done = await operator.confirm(`actions/dismiss-review/${review}`, { note: 'as agreed' });
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('The review was dismissed. See the bill')]);
  });
});
