import type { FactoryProvider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { PaymentLogger } from '../common/payment-logger.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { Database } from '../database/database.js';
import { HandlerTransactions, HOST, type Host } from '../database/handler-transactions.js';
import { HostSessions } from '../database/host-sessions.js';
import type { DriverTransactions } from '../database/payment-transactions.js';
import { namesDatabase } from '../database/storage-options.js';
import { PostgresDatabase } from '../database/postgres/postgres.database.js';
import { typeOrmTransactions } from '../database/typeorm-transactions.js';

export const HANDLER_TRANSACTIONS = Symbol.for('nestjs-payment-acceptance/handler-transactions');

/** Uses the option `transactions`, or else TypeORM; `undefined` without either, or with `handlers: 'at-least-once'`. */
export const HANDLER_TRANSACTIONS_PROVIDER: FactoryProvider<HandlerTransactions | undefined> = {
  provide: HANDLER_TRANSACTIONS,
  inject: [RESOLVED_OPTIONS, Database, HOST, HostSessions],
  useFactory(
    { handlers, storage, transactions }: ResolvedOptions,
    database: Database,
    { dataSource }: Host,
    sessions: HostSessions,
  ) {
    if (handlers === 'at-least-once') return undefined;
    const layer = transactions ?? (dataSource && !namesDatabase(storage) ? ofTypeOrm(database, dataSource) : undefined);
    if (!layer) return undefined;
    const logger = new PaymentLogger('PaymentAcceptance');
    return new HandlerTransactions(layer, sessions, (line) => logger.write('configuration-warning', line));
  },
};

function ofTypeOrm(database: Database, dataSource: DataSource): DriverTransactions {
  const level = async () => {
    const { isolationLevel } = dataSource.options as { isolationLevel?: string };
    const isSet =
      isolationLevel === undefined && database instanceof PostgresDatabase && (await database.isReadCommitted());
    return isSet ? undefined : 'READ COMMITTED';
  };
  return typeOrmTransactions(dataSource, level, database);
}
