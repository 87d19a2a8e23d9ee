import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Injectable, Module, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PaymentAcceptanceModule, PaymentConfigurationError } from 'nestjs-payment-acceptance';
import { PaymentConsoleModule, type PaymentConsoleOptions } from 'nestjs-payment-console';
import { ADAPTERS } from '../support/adapters.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { watchRoutes } from '../support/routes.js';
import { Starting } from '../support/starting.js';
import { Operator } from './support/operator.js';
import { Bookkeeper, record, type Records } from './support/records.js';

/** Decides who is an operator: a dependency of the host's guard. */
@Injectable()
class Staff {
  readonly names: readonly string[] = ['ann', 'eve', 'nobody', 'everywhere'];
}

@Module({ providers: [Staff], exports: [Staff] })
class StaffModule {}

const Roles = (role: string) => SetMetadata('role', role);

interface Signed {
  headers: Readonly<Record<string, string | undefined>>;
  user?: { username?: string; shop: string | null | undefined };
}

/** A host's guard with a dependency, which also reads metadata of the handler. */
@Injectable()
class OperatorGuard implements CanActivate {
  constructor(
    private readonly staff: Staff,
    private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Signed>();
    const name = request.headers['x-user'] ?? '';
    if (this.reflector.get<string>('role', context.getHandler()) !== 'payments') return false;
    const shop = name === 'ann' ? null : name === 'eve' ? 'eu' : name === 'everywhere' ? 'nowhere' : undefined;
    request.user = { username: name, shop };
    return this.staff.names.includes(name);
  }
}

const GUARDED: PaymentConsoleOptions = {
  guards: [OperatorGuard],
  imports: [StaffModule],
  decorators: [Roles('payments')],
  shop: ({ user }) => (user as NonNullable<Signed['user']>).shop,
};

describe.each(ADAPTERS)('behind a guard, on %s', (adapter) => {
  let harness: Harness;
  let routes: string[];
  let main: Records;
  let eu: Records;
  const as = (name: string): Operator => new Operator(`${harness.host.url}/payment-console`, { 'x-user': name });
  beforeAll(async () => {
    let watched = (): string[] => [];
    harness = await startHarness({
      adapter,
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register(GUARDED)],
      options: { http: { attempts: 1 } },
      prepare: (app) => (watched = watchRoutes(app)),
    });
    routes = watched().filter((route) => route.includes('/payment-console'));
    main = await record(harness, 'main');
    eu = await record(harness, 'eu');
  });
  afterAll(() => harness.close());

  test('a list that continues after a record of another shop is empty, as after an unknown record', async () => {
    const { intentId } = await harness.host.payments.createBill({ orderId: 'later', amount: '1' });
    const shown = async (path: string, last: string) => (await as('eve').open(path + last)).text.includes('eu-');
    for (const [path, first, foreign, nobodys] of [
      ['bills?before=', eu.lost, intentId, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'],
      ['reviews?after=', '', main.review, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'],
      ['dead-letters?after=', '', main.deadLetter, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'],
    ] as const) {
      const found = [await shown(path, first), await shown(path, foreign), await shown(path, nobodys)];
      expect([path, ...found]).toEqual([path, true, false, false]);
    }
    await harness.host.dataSource.query('DELETE FROM payment_acceptance.bill WHERE intent_id = $1', [intentId]);
  });

  test('no page and no action is there for a caller whom the guard refuses', async () => {
    expect(routes).toHaveLength(11);
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string];
      const address = path.replace(':action', 'replay').replace(/:\w+/, main.deadLetter);
      const answer = await fetch(harness.host.url + address, { method, headers: { 'x-user': 'mallory' } });
      expect([route, answer.status]).toEqual([route, 403]);
      expect(await answer.text()).not.toContain('<html');
    }
  });

  test('an operator of all shops sees the log, and the guard names the operator', async () => {
    const { text } = await as('ann').open();
    expect(text).toMatch(/Payment console ann Overview .* Log Overview/);
    expect(text).toContain('6 things need attention.');
    expect((await as('ann').open('log')).status).toBe(200);
  });

  test('an operator of one shop sees nothing of the others on any page', async () => {
    const eve = as('eve');
    const paths = [
      '',
      'bills',
      'bills?shop=main',
      'bills?state=UNKNOWN',
      'bills?q=main-paid',
      'reviews',
      'dead-letters',
    ];
    for (const path of [
      ...paths,
      'dead-letters?shop=main',
      'dead-letters?orderId=main-dead',
      'unknown-outcomes',
      'lost-bills',
    ]) {
      const { status, html } = await eve.open(path);
      expect([path, status]).toEqual([path, 200]);
      expect([path, html.replace(/value="main-\w+"|<code>main-\w+<\/code>/g, '')]).toEqual([
        path,
        expect.not.stringContaining('main-'),
      ]);
    }
    expect((await eve.open()).text).toMatch(/Shop eu · eve .* 3 things need attention\./);
    expect((await eve.open('bills')).text).toContain('eu-paid');
    for (const path of [`bills/${main.paid}`, `actions/accept-review/${main.review}`, 'log']) {
      expect([path, (await eve.open(path)).status]).toEqual([path, 404]);
    }
    for (const path of [`actions/attach-bill/${main.lost}`, `actions/void-bill/${main.lost}`]) {
      expect([path, (await eve.open(path)).status]).toEqual([path, 404]);
    }
    expect((await eve.open(`actions/replay/${main.deadLetter}`)).status).toBe(409);
    expect((await eve.open('actions/replay/all?shop=main')).status).toBe(409);
  });

  test('the overview of an operator counts the own shop alone: open work, bills of the day, and every chart', async () => {
    const figuresOf = async (name: string): Promise<Record<string, number>> => {
      const { html } = await as(name).open();
      const tiles = [
        ...html.matchAll(/<li[^>]*>\s*<span>(?:<a[^>]*>)?([^<]+)(?:<\/a>)?<\/span>\s*<strong[^>]*>(\d+)</g),
      ];
      const states = [...html.matchAll(/<strong>(\d+)<\/strong>\s*([a-z ]+)<\/a>/g)].map(([, value, state]) => [
        state,
        value,
      ]);
      const charts = [...html.matchAll(/<title>([^<]+): (\d+) ([^<]+)<\/title>/g)].map(([, at, value, what]) => [
        `${what!}, ${at!}`,
        value,
      ]);
      const errors = [...html.matchAll(/<li>\s*<span><code>(\w+)<\/code>[^]*?<strong>(\d+)</g)].map(
        ([, kind, value]) => [kind, value],
      );
      const found = [...tiles.map(([, tile, value]) => [tile, value]), ...states, ...charts, ...errors];
      return Object.fromEntries(found.map(([what, value]) => [what!.trim(), Number(value)]));
    };
    const { dataSource } = harness.host;
    await dataSource.query(
      `UPDATE payment_acceptance.bill SET next_check_at = now() - interval '1 hour' WHERE state = 'OPEN'`,
    );
    await dataSource.query(`UPDATE payment_acceptance.delivery SET state = 'PENDING' WHERE state = 'DONE'`);
    const [all, own] = await Promise.all([figuresOf('ann'), figuresOf('eve')]);
    await dataSource.query(`UPDATE payment_acceptance.delivery SET state = 'DONE' WHERE state = 'PENDING'`);
    // Both shops have the same records, one of each kind.
    expect(Object.keys(own).length).toBeGreaterThan(14);
    expect(own).toEqual(Object.fromEntries(Object.entries(all).map(([what, value]) => [what, value / 2])));
  });

  test('an operator can do what the own shop needs, and touches no other', async () => {
    const eve = as('eve');
    expect((await eve.confirm('actions/replay/all', { note: 'mended' })).text).toContain(
      '1 dead letter is being retried.',
    );
    expect((await eve.open('dead-letters')).text).toContain('There are no dead letters.');
    expect((await as('ann').open('dead-letters')).text).toContain('main-dead');
    expect((await eve.confirm(`actions/accept-review/${eu.review}`)).text).toContain('The review was accepted.');
    expect((await as('ann').open('log')).text).toMatch(
      /eve accepted the review underpaid: 99\.00 counts eu-short .*eve replayed all/,
    );
  });

  test.each(['nobody', 'everywhere'])('the operator %s has no shop of the console, and sees nothing', async (name) => {
    for (const path of ['', 'bills', 'log', `bills/${main.paid}`, `actions/void-bill/${main.lost}`]) {
      const { status, text } = await as(name).open(path);
      expect([path, status, text]).toEqual([
        path,
        403,
        expect.stringContaining('You do not have access to any shop in this console.'),
      ]);
      expect(text).not.toMatch(/main-|Log/);
    }
  });
});

/** `fetch` sets Host itself. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const [response] = (await once(get(url, { headers: { host } }), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('without a guard', () => {
  const starting = new Starting();
  const environment = process.env.NODE_ENV;
  afterEach(async () => {
    process.env.NODE_ENV = environment;
    await starting.close('keep');
  });
  afterAll(() => starting.close('drop'));

  const start = (options: PaymentConsoleOptions, environment: string | undefined) => {
    if (environment === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = environment;
    const payments = PaymentAcceptanceModule.forRoot({ ...moduleOptions('https://api.example'), migrations: 'run' });
    return starting.start([payments, PaymentConsoleModule.register(options)]);
  };

  test.each(['production', undefined, '', 'staging', 'Production ', 'dev'])(
    'a console without a guard does not start with NODE_ENV %j',
    async (value) => {
      const error: unknown = await start({}, value).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(PaymentConfigurationError);
      expect((error as Error).message).toMatch(
        /^PaymentConsoleModule cannot start:\n {2}- guards: .*\{ guards: \[YourOperatorGuard\] \}/,
      );
    },
  );

  test.each<[PaymentConsoleOptions, string]>([
    [{}, 'development'],
    [{}, 'test '],
    [{ guards: [{ canActivate: () => true }] }, 'production'],
    [{ guardedElsewhere: true }, 'production'],
  ])('a console with the options %j starts with NODE_ENV %j', async (options, value) => {
    await start(options, value);
  });

  test.each(ADAPTERS)('a console without a guard answers only at the names of this machine, on %s', async (adapter) => {
    process.env.NODE_ENV = 'development';
    const harness = await startHarness({ adapter, imports: [PaymentConsoleModule.register()] });
    const { port } = new URL(harness.host.url);
    const statuses = await Promise.all(
      [
        'localhost',
        '127.0.0.1',
        '[::1]',
        'LOCALHOST',
        'rebound.example',
        'localhost.rebound.example',
        '127.0.0.1.nip.io',
      ].map((name) => statusFor(`${harness.host.url}/payment-console`, `${name}:${port}`)),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 403, 403, 403]);
    await harness.close();
  });

  test.each(['', '/', 'a//b', 'a b', 'a?b', '..', 'a/../..', ':x', '<b>'])(
    'the console path %j is refused',
    async (path) => {
      await expect(start({ path }, 'test')).rejects.toThrow(/^PaymentConsoleModule cannot start:\n {2}- path: "/);
    },
  );
});
