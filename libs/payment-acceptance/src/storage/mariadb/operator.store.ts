import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MATCHING, OperatorStore, matchingParameters, type DeadLetterFilter } from '../operator.store.js';
import type { ShopScope } from '../scope.js';
import type { MariaDatabase } from './maria.database.js';

@Injectable()
export class MariaOperatorStore extends OperatorStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async replay(manager: EntityManager, filter: DeadLetterFilter, scope: ShopScope): Promise<number> {
    const found = await this.maria.query<{ id: string }>(
      `SELECT d.id::text AS id ${MATCHING} ORDER BY d.id`,
      matchingParameters(filter, scope),
      manager,
    );
    if (found.length === 0) return 0;
    const replayed = await this.maria.query(
      `UPDATE payment_acceptance.delivery SET state = 'PENDING', attempts = 0, replays = replays + 1, due_at = now(),
         ended_at = NULL, lease_token = NULL, lease_until = NULL WHERE id = ANY($1) AND state = 'DEAD'`,
      [found.map(({ id }) => id)],
      manager,
    );
    return replayed.length;
  }
}
