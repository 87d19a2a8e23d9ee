import { Injectable } from '@nestjs/common';
import { DeliveryWorker, type DeliveryWorkload } from '../events/delivery.worker.js';
import { CheckRequests, type CheckWorkload } from '../settlement/check-requests.js';
import type { ShopScope } from '../storage/scope.js';

/** What this process does at this moment, and how much of it it may do at once. Other instances have limits of their own. */
export interface PaymentWorkload {
  /** Shops whose service was asked within the last minute, in the order of their names. */
  readonly checks: readonly CheckWorkload[];
  readonly deliveries: DeliveryWorkload;
}

/** Reads the limits that follow from how the service and the pool answer. */
@Injectable()
export class Workload {
  constructor(
    private readonly requests: CheckRequests,
    private readonly deliveries: DeliveryWorker,
  ) {}

  /** @param scope the shop whose checks are shown, or `null` for all */
  read(scope: ShopScope): PaymentWorkload {
    const checks = this.requests.workload().filter(({ shop }) => scope === null || shop === scope);
    return { checks, deliveries: this.deliveries.workload() };
  }
}
