import type { EntityManager } from 'typeorm';
import type { EnclosingTransaction } from '../../libs/payment-acceptance/src/database/database.js';
import type { OwnTransaction } from '../../libs/payment-acceptance/src/database/own-transaction.js';
import { rawSql } from '../../libs/payment-acceptance/src/database/statement.js';
import { ON_MARIADB } from './database.js';

/** What a handler is given in a transaction of TypeORM. */
export const managerOf = (within: EnclosingTransaction): EntityManager => within.tx as EntityManager;

/** Writes an effect in a transaction of the module's own. */
export async function insertEffect(tx: OwnTransaction, consumer: string): Promise<void> {
  const columns = rawSql(ON_MARIADB ? 'paymentId, orderId' : '"paymentId", "orderId"');
  await tx.change`INSERT INTO effect (consumer, event, ${columns}) VALUES (${consumer}, 'e', 'p', 'o')`;
}
