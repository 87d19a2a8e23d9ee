import type { FactoryProvider } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { DestroyableTransaction } from '../database/destroyable-transaction.js';
import { HostTransactions, type HandlerTransactions } from '../database/handler-transactions.js';
import { HostSessions } from '../database/host-sessions.js';

/** Token of the {@link HandlerTransactions}. */
export const HANDLER_TRANSACTIONS = Symbol.for('nestjs-payment-acceptance/handler-transactions');

/** TypeORM's, unless the options name those of another data layer; none where there is neither. */
export const HANDLER_TRANSACTIONS_PROVIDER: FactoryProvider<HandlerTransactions | undefined> = {
  provide: HANDLER_TRANSACTIONS,
  inject: [RESOLVED_OPTIONS, DestroyableTransaction, HostSessions],
  useFactory({ transactions }: ResolvedOptions, typeorm: DestroyableTransaction | undefined, sessions: HostSessions) {
    if (!transactions) return typeorm;
    const logger = new PaymentLogger('PaymentAcceptance');
    return new HostTransactions(transactions, sessions, (line) => logger.write('configuration-warning', line));
  },
};
