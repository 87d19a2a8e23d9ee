import { Injectable } from '@nestjs/common';
import { DeliveryWorker, type DeliveryWorkload } from '../events/delivery.worker.js';
import { CheckRequests, type CheckWorkload } from '../client/check-requests.js';
import type { ShopScope } from '../database/scope.js';

/** What this process is doing right now, and its current limits. Other instances have limits of their own. */
export interface PaymentWorkload {
  /** Shops whose service was called within the last minute, sorted by name. */
  readonly checks: readonly CheckWorkload[];
  readonly deliveries: DeliveryWorkload;
}

@Injectable()
export class Workload {
  constructor(
    private readonly requests: CheckRequests,
    private readonly deliveries: DeliveryWorker,
  ) {}

  /** @param scope the shop whose checks to show, or `null` for all */
  read(scope: ShopScope): PaymentWorkload {
    const checks = this.requests.workload().filter(({ shop }) => scope === null || shop === scope);
    return { checks, deliveries: this.deliveries.workload() };
  }
}
