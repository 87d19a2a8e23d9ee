import type { Payment } from 'nestjs-payment-sandbox';
import type { ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';
import { statusAt, type ServiceBill } from './truth.js';

/** How far behind it is: more than the first pause before a list is asked for again, less than both. */
const BEHIND_MS = 10_000;

/** What the service reads its lists from. It may lag: then it shows what was true some time ago. */
export class Replica {
  lagging = false;

  /** What it shows of a payment at an instant; `undefined` where it does not show it yet. */
  statusAt(payment: Payment, instant: string): Payment['status'] | undefined {
    return statusAt(payment, this.lagging ? new Date(Date.parse(instant) - BEHIND_MS).toISOString() : instant);
  }

  /** The service's list, as it shows it. */
  read(bill: ServiceBill, listed: readonly ReportedPayment[], now: string): ReportedPayment[] {
    return listed.flatMap((entry) => {
      const payment = bill.payments.find(({ id }) => id === entry.paymentId);
      const status = payment && this.statusAt(payment, now);
      return status === undefined ? [] : { ...entry, status, statusText: status };
    });
  }
}
