/** What `init` prints for an application whose data layer is not TypeORM. */
export interface PrintedLayer {
  /** The packages by which the layer is detected, all of them declared. */
  readonly packages: readonly string[];
  /** Imports of the application's module. Those marked `yours` may be elsewhere. */
  readonly top: readonly string[];
  /** Modules, providers and their parameters that the factory of the options needs. */
  readonly needs?: { readonly lines: readonly string[]; readonly parameters: string };
  readonly transactions: string;
  readonly handler: {
    readonly imports: readonly string[];
    /** Type of `tx`. */
    readonly type: string;
    readonly lines: readonly string[];
  };
}

const NOTE_COMMENT =
  '// E.g. the order is cancelled or already paid: it stays as it is, and a person reads the note. If there is no such order, this throws.';
const WHERE_ORDER = 'WHERE id = $1 AND amount = $2 AND currency = $3';
const MARK_PAID = `UPDATE orders SET status = 'paid' ${WHERE_ORDER} AND status = 'pending'`;
const ADD_NOTE = `UPDATE orders SET note = $4 ${WHERE_ORDER}`;

/** With `?`, the values are taken in the order in which the placeholders appear in the text. */
const withQuestionMarks = (text: string): string => text.replace(/\$\d/g, '?');

/** @param count where the driver tells how many rows a statement has changed */
const drizzleHandler = (count: 'count' | 'rowCount'): PrintedLayer['handler'] => ({
  imports: [
    `import { and, eq } from 'drizzle-orm';`,
    `import { db, orders } from './database.js'; // yours`,
    '',
    'type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];',
  ],
  type: 'Tx',
  lines: [
    'const order = and(eq(orders.id, id), eq(orders.amount, amount), eq(orders.currency, currency));',
    `const pending = and(order, eq(orders.status, 'pending'));`,
    `const { ${count} } = await tx.update(orders).set({ status: 'paid' }).where(pending);`,
    NOTE_COMMENT,
    'const note = `Payment ${paymentId}`;',
    `if (!${count}) requireOrder(event, await tx.update(orders).set({ note }).where(order));`,
  ],
});

/** The layers are looked for in this order: each comes before those that it may be built on. */
export const LAYERS: readonly PrintedLayer[] = [
  {
    packages: ['@prisma/client'],
    top: [
      `import { prismaTransactions } from 'nestjs-payment-acceptance/prisma';`,
      `import { PrismaModule, PrismaService } from './prisma.service.js'; // yours`,
    ],
    needs: { lines: ['imports: [PrismaModule],', 'inject: [PrismaService],'], parameters: 'prisma: PrismaService' },
    transactions: 'prismaTransactions(prisma)',
    handler: {
      imports: [`import type { Prisma } from './generated/prisma/client.js'; // where yours is generated`],
      type: 'Prisma.TransactionClient',
      lines: [
        'const order = { id, amount, currency };',
        `const { count } = await tx.order.updateMany({ where: { ...order, status: 'pending' }, data: { status: 'paid' } });`,
        NOTE_COMMENT,
        'const noted = { where: order, data: { note: `Payment ${paymentId}` } };',
        'if (count === 0) requireOrder(event, await tx.order.updateMany(noted));',
      ],
    },
  },
  {
    packages: ['drizzle-orm', 'postgres'],
    top: [
      `import { drizzle } from 'drizzle-orm/postgres-js';`,
      `import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';`,
      `import postgres from 'postgres';`,
    ],
    transactions:
      'drizzleTransactions((options) => postgres(process.env.DATABASE_URL!, options), (sql) => drizzle(sql))',
    handler: drizzleHandler('count'),
  },
  {
    packages: ['drizzle-orm'],
    top: [
      `import { drizzle } from 'drizzle-orm/node-postgres';`,
      `import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';`,
      `import { pool } from './database.js'; // yours: the pool beneath Drizzle`,
    ],
    transactions: 'drizzleTransactions(pool, (client) => drizzle(client))',
    handler: drizzleHandler('rowCount'),
  },
  {
    packages: ['kysely'],
    top: [
      `import { Kysely, PostgresDialect } from 'kysely';`,
      `import { kyselyTransactions } from 'nestjs-payment-acceptance/kysely';`,
      `import { pool, type Schema } from './database.js'; // yours: the pool beneath Kysely`,
    ],
    transactions:
      'kyselyTransactions(pool, (single) => new Kysely<Schema>({ dialect: new PostgresDialect({ pool: single }) }))',
    handler: {
      imports: [`import type { Transaction } from 'kysely';`, `import type { Schema } from './database.js'; // yours`],
      type: 'Transaction<Schema>',
      lines: [
        `const order = tx.updateTable('orders').where('id', '=', id).where('amount', '=', amount).where('currency', '=', currency);`,
        `const { numUpdatedRows } = await order.where('status', '=', 'pending').set({ status: 'paid' }).executeTakeFirst();`,
        NOTE_COMMENT,
        'const noted = order.set({ note: `Payment ${paymentId}` });',
        'if (numUpdatedRows === 0n) requireOrder(event, await noted.executeTakeFirst());',
      ],
    },
  },
  {
    packages: ['knex'],
    top: [
      `import { knexTransactions } from 'nestjs-payment-acceptance/knex';`,
      `import { db } from './database.js'; // yours: the instance of Knex`,
    ],
    transactions: 'knexTransactions(db)',
    handler: {
      imports: [`import type { Knex } from 'knex';`],
      type: 'Knex.Transaction',
      lines: [
        'const order = { id, amount, currency };',
        `const paid = await tx('orders').where({ ...order, status: 'pending' }).update({ status: 'paid' });`,
        NOTE_COMMENT,
        'const note = `Payment ${paymentId}`;',
        `if (!paid) requireOrder(event, await tx('orders').where(order).update({ note }));`,
      ],
    },
  },
  {
    packages: ['@mikro-orm/core'],
    top: [
      `import { MikroORM } from '@mikro-orm/core';`,
      `import { mikroOrmTransactions } from 'nestjs-payment-acceptance/mikro-orm';`,
    ],
    needs: { lines: ['inject: [MikroORM],'], parameters: 'orm: MikroORM' },
    transactions: 'mikroOrmTransactions(orm.em)',
    handler: {
      imports: [
        `import type { EntityManager } from '@mikro-orm/core';`,
        `import { Order } from './order.entity.js'; // yours`,
      ],
      type: 'EntityManager',
      lines: [
        'const order = { id, amount, currency };',
        `const paid = await tx.nativeUpdate(Order, { ...order, status: 'pending' }, { status: 'paid' });`,
        NOTE_COMMENT,
        'const note = `Payment ${paymentId}`;',
        'if (!paid) requireOrder(event, await tx.nativeUpdate(Order, order, { note }));',
      ],
    },
  },
  {
    packages: ['pg'],
    top: [
      `import { pgTransactions } from 'nestjs-payment-acceptance/pg';`,
      `import { pool } from './database.js'; // yours`,
    ],
    transactions: 'pgTransactions(pool)',
    handler: {
      imports: [`import type { PoolClient } from 'pg';`],
      type: 'PoolClient',
      lines: [
        'const order = [id, amount, currency];',
        `const { rowCount } = await tx.query(\`${MARK_PAID}\`, order);`,
        NOTE_COMMENT,
        `const noted = \`${ADD_NOTE}\`;`,
        'if (!rowCount) requireOrder(event, await tx.query(noted, [...order, `Payment ${paymentId}`]));',
      ],
    },
  },
  {
    packages: ['mysql2'],
    top: [
      `import { mysql2Transactions } from 'nestjs-payment-acceptance/mysql2';`,
      `import { pool } from './database.js'; // yours, of mysql2/promise`,
    ],
    transactions: 'mysql2Transactions(pool)',
    handler: {
      imports: [`import type { PoolConnection, ResultSetHeader } from 'mysql2/promise';`],
      type: 'PoolConnection',
      lines: [
        'const order = [id, amount, currency];',
        `const [paid] = await tx.query<ResultSetHeader>(\`${withQuestionMarks(MARK_PAID)}\`, order);`,
        NOTE_COMMENT,
        `const noted = \`${withQuestionMarks(ADD_NOTE)}\`;`,
        'if (!paid.affectedRows) requireOrder(event, await tx.query<ResultSetHeader>(noted, [`Payment ${paymentId}`, ...order]));',
      ],
    },
  },
];

export const ENV = `PAYMENT_ACCEPTANCE_API_BASE_URL=http://127.0.0.1:4010
PAYMENT_ACCEPTANCE_SHOP_ID=demo-main
PAYMENT_ACCEPTANCE_API_TOKEN=sandbox-main-token-0123456789abcdef`;

export const TYPEORM_CODE = `TypeOrmModule.forRootAsync({
  useFactory: () => ({ type: 'postgres', url: process.env.DATABASE_URL, autoLoadEntities: true }),
}),`;

const WITH_TYPEORM = `// 'Order' is the name of your entity, 'pending' the state in which it may be paid, and these are its columns (note is text, for
  // a person): leave out currency, here and above, if your orders have none. Until they are correct this throws, and is retried for at least a day.
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { affected } = await manager.update('Order', { ...order, status: 'pending' }, { status: 'paid' });
    // E.g. the order is cancelled or already paid: it stays as it is, and a person reads the note. If there is no such order, this throws.
    if (!affected) requireOrder(event, await manager.update('Order', order, { note: \`Payment \${paymentId}\` }));
  }`;

const withLayer = ({ handler }: PrintedLayer): string =>
  `// 'pending' is the state in which an order may be paid, and these are its columns (note is text, for a person): leave out currency,
  // here and above, if your orders have none. Write everything through tx. Until it is correct this throws, and is retried for at least a day.
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { tx }: PaymentEventContext<${handler.type}>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
${handler.lines.map((line) => `    ${line}\n`).join('')}  }`;

export const handlerCode = (layer?: PrintedLayer): string => `import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  PaymentAcceptanceService,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
${(layer?.handler.imports ?? [`import type { EntityManager } from 'typeorm';`]).map((line) => `${line}\n`).join('')}
@Injectable()
export class OrderPayments {
  constructor(private readonly payments: PaymentAcceptanceService) {}

  // Call it in your checkout once the order is stored, and send the payer to the address. The amount is a decimal such as '100.05';
  // if you omit the currency, the shop's is used.
  async start({ id, amount, currency }: { id: string | number; amount: string; currency: string }): Promise<string> {
    const bill = await this.payments.createBill({ orderId: String(id), amount, currency });
    return bill.linkPageUrl;
  }

  ${layer ? withLayer(layer) : WITH_TYPEORM}
}`;

export function moduleCode({ needs, transactions }: PrintedLayer): string {
  const lines = [
    ...(needs?.lines ?? []),
    `useFactory: (${needs?.parameters ?? ''}) => ({`,
    '  ...paymentAcceptanceOptionsFromEnv(),',
    '  storage: { url: process.env.DATABASE_URL! }, // the database of your orders',
    `  transactions: ${transactions},`,
    '}),',
  ];
  return `PaymentAcceptanceModule.forRootAsync({\n${lines.map((line) => `  ${line}\n`).join('')}}),`;
}
