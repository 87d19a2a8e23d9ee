import type { Provider } from '@nestjs/common';
import { createPaymentInbox } from 'nestjs-payment-acceptance/inbox';
import { DataSource } from 'typeorm';
import { connectionOf, forTestSql } from '../../support/database.js';
import { Effect, startHarness, type Harness, type Instance } from '../../support/harness.js';
import { DatabaseProxy } from './database-proxy.js';
import { Desk, Handlers } from './handlers.js';

export type Shop = 'main' | 'eu';

/** Two instances of one application, or two applications with a shop each. */
export type Hosts = 'two instances' | 'two applications';

/** The module's timeout of statements; all of its limits are small here. */
const STATEMENT_MS = 250;

/** An instance, and the proxy between it and the database. */
export interface Seat {
  readonly shops: readonly Shop[];
  readonly desk: Desk;
  readonly instance: Instance;
  readonly proxy: DatabaseProxy;
}

export interface StartedSeats {
  readonly harness: Harness;
  readonly seats: readonly [Seat, Seat];
  /** Reaches the database without a proxy. */
  readonly direct: DataSource;
}

/** Starts two hosts on one database, each behind a proxy of its own. What their handlers see goes to `saw` and `publish`. */
export async function startSeats(hosts: Hosts, saw: Desk['saw'], publish: Desk['publish']): Promise<StartedSeats> {
  const proxies: DatabaseProxy[] = [];
  const shopsOf = (seat: number): readonly Shop[] =>
    hosts === 'two instances' ? ['main', 'eu'] : [seat === 0 ? 'main' : 'eu'];
  const desks = [0, 1].map((seat) => new Desk(shopsOf(seat).join('+'), saw, publish));
  const providers = (seat: number): Provider[] => [{ provide: Desk, useValue: desks[seat]! }, Handlers];
  const only = (seat: number) => (hosts === 'two instances' ? {} : { only: shopsOf(seat)[0]! });
  const harness = await startHarness({
    providers: providers(0),
    ...only(0),
    async through(databaseUrl) {
      const proxy = await DatabaseProxy.open(databaseUrl);
      proxies.push(proxy);
      return proxy.url;
    },
    sandbox: { postbackRetryDelays: ['10s', '1m', '2m', '2m', '2m', '5m'] },
    options: {
      statementTimeoutMs: STATEMENT_MS,
      http: { totalTimeoutMs: 600, attempts: 1 },
      deliveries: { maxAttempts: 3, timeoutMs: 600 },
      callbacks: { storeTimeoutMs: 400 },
      creation: { storeTimeoutMs: 600, waitMs: 100 },
    },
  });
  await harness.start({ providers: providers(1), ...only(1) });
  const direct = await new DataSource({ ...connectionOf(harness.databaseUrl), entities: [Effect] }).initialize();
  await createPaymentInbox(direct.manager);
  const seats = [0, 1].map((seat) => ({
    shops: shopsOf(seat),
    desk: desks[seat]!,
    instance: harness.instances[seat]!,
    proxy: proxies[seat]!,
  })) as unknown as readonly [Seat, Seat];
  if (hosts === 'two applications') {
    await harness.sandbox.putShop('shop-eu', { resultUrl: `${seats[1].instance.url}/postback/payment/eu` });
  }
  return { harness, seats, direct: await forTestSql(direct) };
}

/** One of the hosts that have the shop. */
export function seatOf(seats: readonly Seat[], shop: Shop, index: number): Seat {
  const own = seats.filter(({ shops }) => shops.includes(shop));
  return own[index % own.length]!;
}
