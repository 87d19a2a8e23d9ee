import { Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { redirectOf } from '../callbacks/messages.js';
import { SandboxController } from '../common/controller.js';
import { formatMinor, minorOf } from '../common/decimal.js';
import { SandboxError } from '../common/errors.js';
import { readForm, type SandboxRequest } from '../common/http.js';
import { type Page, sendPage } from '../common/page.js';
import { isoTime } from '../common/time.js';
import { type Bill, isFinal, type Payment, type Shop, type Visit } from '../model/entities.js';
import { amountDue, splitPaid } from '../payments/amounts.js';
import { PaymentsService } from '../payments/payments.service.js';
import { cardDigits, spacedCard, TEST_CARDS } from '../payments/test-cards.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { checkCardForm, readCardForm } from './card-form.js';
import {
  addressOf,
  type BillToPay,
  cardPage,
  linkPage,
  messagePage,
  paidPage,
  processingPage,
  resultPage,
} from './pages.js';

/** The timeline keeps only the first visits to a bill: a page may be reloaded without end. */
const MAX_VISITS = 40;

/**
 * `{pay_url}/link/<bill_id>` and `{pay_url}/transfer/<bill_id>` of 2.2. The content of these pages is assumed, as it is
 * not documented. They work without scripts, which only save the payer waiting, typing and the last click.
 */
@SandboxController('')
export class PayerPagesController {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly payments: PaymentsService,
  ) {}

  @Get('link/:billId')
  link(@Param('billId') billId: string, @Res() response: ServerResponse): Promise<void> {
    return this.show(response, billId, (opened) => {
      this.note(billId, 'link');
      return paidPageOr(opened, () => linkPage(opened));
    });
  }

  /** `?card=` fills in a test card, for browsers without scripts. */
  @Get('transfer/:billId')
  transfer(
    @Param('billId') billId: string,
    @Query('card') card: unknown,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.show(response, billId, (opened) => {
      this.note(billId, 'form');
      const chosen = TEST_CARDS.find(({ number }) => number === card);
      const form = chosen && { card: spacedCard(chosen.number), expiry: this.exampleExpiry(), cvc: '123' };
      return paidPageOr(opened, () => cardPage(opened, this.exampleExpiry(), form));
    });
  }

  @Post('transfer/:billId')
  async pay(
    @Param('billId') billId: string,
    @Req() request: SandboxRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const form = readCardForm(await readForm(request));
    await this.show(response, billId, (opened) =>
      paidPageOr(opened, () => {
        const errors = checkCardForm(form, this.clock.now());
        const card = cardDigits(form.card);
        if (!card || Object.keys(errors).length > 0) {
          return cardPage(opened, this.exampleExpiry(), { ...form, cvc: '' }, errors);
        }
        return this.payments.pay(opened.bill, { card, takesTime: true });
      }),
    );
  }

  @Get('transfer/:billId/payments/:paymentId')
  result(
    @Param('billId') billId: string,
    @Param('paymentId') paymentId: string,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.show(response, billId, (opened) => {
      const payment = opened.payments.find(({ id }) => id === paymentId);
      if (!payment) {
        const advice = 'Reopen the payment page of the bill to see its current state.';
        return messagePage(404, 'No such payment', 'This bill has no such payment.', advice);
      }
      if (!isFinal(payment)) return processingPage(opened, payment);
      const redirect = redirectOf(opened.shop, opened.bill, payment);
      if (redirect) this.note(billId, 'redirect', { paymentId, url: redirect.url });
      return resultPage(opened, payment, redirect);
    });
  }

  /** Polled by the processing page's script. */
  @Get('transfer/:billId/payments/:paymentId/status')
  status(@Param('billId') billId: string, @Param('paymentId') paymentId: string) {
    const payment = this.store.paymentsOf(billId).find(({ id }) => id === paymentId);
    if (!payment) throw new SandboxError(404, 'This bill has no such payment');
    return { status: payment.status, final: isFinal(payment) };
  }

  /** Redirects to a new payment with a 303, so that a reload does not pay again. */
  private async show(
    response: ServerResponse,
    billId: string,
    page: (opened: BillToPay) => Page | Payment,
  ): Promise<void> {
    const shown = this.open(billId, page);
    await this.store.durable();
    if ('body' in shown) return sendPage(response, shown);
    response.writeHead(303, { location: addressOf(shown) }).end();
  }

  private open(billId: string, page: (opened: BillToPay) => Page | Payment): Page | Payment {
    const bill = this.store.bills.get(billId);
    if (!bill) {
      const advice = 'Check the address, or restart the payment in the shop.';
      return messagePage(404, 'No such bill', 'There is no bill at this address.', advice);
    }
    const shop = this.store.shop(bill.shopId);
    try {
      return page({ shop, bill, ...dueOf(bill, shop), payments: this.store.paymentsOf(billId) });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return messagePage(error.status, 'Payment not possible', error.message, 'You were not charged.');
    }
  }

  private note(billId: string, page: Visit['page'], details: Pick<Visit, 'paymentId' | 'url'> | null = null): void {
    if (this.store.visitsOf(billId).length >= MAX_VISITS) return;
    this.store.commit({ visit: { billId, at: this.clock.instant(), page, paymentId: null, url: null, ...details } });
  }

  /** December of the year after next, by the sandbox's clock. */
  private exampleExpiry(): string {
    return `12/${isoTime(this.clock.now() + 2 * 365 * 86_400_000).slice(2, 4)}`;
  }
}

function dueOf(bill: Bill, shop: Shop): Pick<BillToPay, 'due' | 'commission'> {
  const due = amountDue(bill, shop.commissionPercent);
  const commission = bill.payerPaysCommission
    ? formatMinor(due - minorOf(bill.amount))
    : splitPaid(bill.amount, false, shop.commissionPercent).commission;
  return { due: formatMinor(due), commission };
}

/** A bill that is paid, or has a payment in progress, cannot be paid here. */
function paidPageOr<T>(opened: BillToPay, otherwise: () => T): T | Page {
  const paid = opened.payments.find(({ status }) => status === 'SUCCESS');
  if (paid) return paidPage(opened, paid);
  const underWay = opened.payments.find((payment) => !isFinal(payment));
  if (underWay) return processingPage(opened, underWay);
  if (opened.shop.banned) throw new SandboxError(403, 'The shop of this bill is blocked. Ask it how to pay.');
  return otherwise();
}
