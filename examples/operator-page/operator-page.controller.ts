import { Controller, Get, Header, NotFoundException, Param, Query, UseGuards } from '@nestjs/common';
import {
  PaymentOperations,
  PaymentRecords,
  PaymentReviews,
  type BillSummary,
} from 'nestjs-payment-acceptance/operations';
import { OperatorGuard } from './operator.guard.js';

/** A page for operators in an application's own look: what needs somebody, the newest bills, and each bill's story. */
@Controller('backoffice/payments')
@UseGuards(OperatorGuard)
export class OperatorPageController {
  constructor(
    private readonly records: PaymentRecords,
    private readonly reviews: PaymentReviews,
    private readonly operations: PaymentOperations,
  ) {}

  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  async overview(@Query('q') sought = '', @Query('before') before?: string): Promise<string> {
    const [stats, reviews, bills] = await Promise.all([
      this.operations.stats(),
      this.reviews.list(),
      sought === '' ? this.records.bills(before === undefined ? {} : { before }) : this.found(sought),
    ]);
    return page(
      `${stats.openReviews} reviews, ${stats.deadLetters} dead letters, ${stats.unknownBills} unknown outcomes`,
      list(reviews.map(({ orderId, reason }) => `${escape(orderId)}: ${escape(reason)}`)),
      list(bills.rows.map(billLine)),
      bills.more ? `<a href="?before=${bills.rows.at(-1)?.intentId}">Older</a>` : '',
    );
  }

  @Get(':intent')
  @Header('Content-Type', 'text/html; charset=utf-8')
  async bill(@Param('intent') intent: string): Promise<string> {
    const history = await this.records.history(intent);
    if (!history) throw new NotFoundException('There is no such bill.');
    const { bill, payments, callbacks, events } = history;
    return page(
      `Order ${escape(bill.orderId)}: ${bill.state}, ${bill.amount} ${bill.currency}`,
      list(payments.map(({ paymentId, status, amount }) => `payment ${escape(paymentId)}: ${status}, ${amount}`)),
      list(
        callbacks.map(({ kind, receivedAt, outcome }) => `${kind} at ${receivedAt}: ${outcome ?? 'no outcome yet'}`),
      ),
      list(events.map(({ name, deliveries }) => `${name}: ${deliveries.map(({ state }) => state).join(', ')}`)),
    );
  }

  private async found(text: string): Promise<{ rows: BillSummary[]; more: boolean }> {
    return { rows: await this.records.searchBills(text), more: false };
  }
}

const billLine = ({ intentId, orderId, state, amount, currency }: BillSummary): string =>
  `<a href="payments/${intentId}">${escape(orderId)}</a>: ${state}, ${amount} ${currency}`;
const list = (items: readonly string[]): string => `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`;
const page = (...parts: readonly string[]): string => `<!doctype html><title>Payments</title>${parts.join('\n')}`;
const escape = (text: string): string => text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
