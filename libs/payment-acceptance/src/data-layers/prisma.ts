import type { PaymentTransactions } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE } from '../database/pool.js';

/** The part of a Prisma client's transaction that is used. */
export interface PrismaTransaction {
  $queryRawUnsafe<T = unknown>(sql: string, ...values: unknown[]): Promise<T>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

/** The part of a Prisma client that is used. */
export interface PrismaClientLike<Tx> {
  $transaction<T>(
    work: (tx: Tx) => Promise<T>,
    options: { isolationLevel: 'ReadCommitted'; maxWait: number; timeout: number },
  ): Promise<T>;
}

/** At its own time limit, Prisma only refuses the next statement and ends none, so ours comes first. */
const MARGIN_MS = 5_000;

/**
 * Transactions of Prisma: handlers get its transaction, as `PaymentEventContext<Prisma.TransactionClient>`.
 * @param prisma the host's client, or the host's service that extends the client
 */
export function prismaTransactions<Tx extends PrismaTransaction>(
  prisma: PrismaClientLike<Tx>,
  { provider = 'postgresql', connections = DEFAULT_POOL_SIZE }: PrismaTransactionsOptions = {},
): PaymentTransactions<Tx> {
  return {
    placeholders: provider === 'postgresql' ? '$1' : '?',
    pool: { size: connections, free: () => connections },
    run: (work, { timeoutMs }) =>
      prisma.$transaction(work, {
        isolationLevel: 'ReadCommitted',
        maxWait: timeoutMs,
        timeout: timeoutMs + MARGIN_MS,
      }),
    async query(tx, sql, values, gives) {
      if (gives === 'count') return { rows: [], rowCount: await tx.$executeRawUnsafe(sql, ...values) };
      const rows = await tx.$queryRawUnsafe<unknown[]>(sql, ...values);
      return { rows, rowCount: rows.length };
    },
  };
}

export interface PrismaTransactionsOptions {
  /** The `provider` of the client's data source. Default `postgresql`. */
  readonly provider?: 'postgresql' | 'mysql';
  /** Maximum connections of the client's pool. At most half of them run handlers at a time. Default 10. */
  readonly connections?: number;
}
