import { Controller, Get, Header, Param, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { redirectOf } from '../callbacks/redirect.js';
import { formatMinor } from '../common/decimal.js';
import { SandboxError } from '../common/errors.js';
import { readBytes, type SandboxRequest } from '../common/http.js';
import { isFields } from '../common/input.js';
import { RefusalFilter } from '../common/refusal.filter.js';
import type { Bill, Payment, Shop } from '../model/entities.js';
import { amountDue } from '../payments/amounts.js';
import { PaymentsService } from '../payments/payments.service.js';
import { cardDigits } from '../payments/test-cards.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { RETURN_SCRIPT, STYLE } from './assets.js';
import { checkCardForm, readCardForm } from './card-form.js';
import { type Page, sendPage } from '../common/page.js';
import { type BillToPay, cardPage, linkPage, messagePage, paidPage, processingPage, resultPage } from './pages.js';

interface Opened extends BillToPay {
  shop: Shop;
  payments: Payment[];
}

/**
 * The payer's pages: `{pay_url}/link/<bill_id>` and `{pay_url}/transfer/<bill_id>` of 2.2. What stands on them is not
 * shown, and assumed. They work without scripts; a script only spares the payer the last click.
 */
@Controller()
@UseFilters(RefusalFilter)
export class PayerPagesController {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly payments: PaymentsService,
  ) {}

  @Get('link/:billId')
  link(@Param('billId') billId: string, @Res() response: ServerResponse): Promise<void> {
    return this.show(response, billId, (opened) => paidOr(opened, () => linkPage(opened)));
  }

  @Get('transfer/:billId')
  transfer(@Param('billId') billId: string, @Res() response: ServerResponse): Promise<void> {
    return this.show(response, billId, (opened) => paidOr(opened, () => cardPage(opened)));
  }

  @Post('transfer/:billId')
  async pay(
    @Param('billId') billId: string,
    @Req() request: SandboxRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const form = readCardForm(await readForm(request));
    await this.show(response, billId, (opened) =>
      paidOr(opened, () => {
        const errors = checkCardForm(form, this.clock.now());
        const card = cardDigits(form.card);
        if (!card || Object.keys(errors).length > 0) return cardPage(opened, form, errors);
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
    return this.show(response, billId, ({ shop, bill, payments }) => {
      const payment = payments.find(({ id }) => id === paymentId);
      if (!payment) return messagePage(404, 'No such payment', 'This bill has no such payment.');
      const final = payment.status === 'SUCCESS' || payment.status === 'FAIL';
      return final ? resultPage(payment, redirectOf(shop, bill, payment)) : processingPage(payment);
    });
  }

  @Get('sandbox/assets/style.css')
  @Header('content-type', 'text/css; charset=utf-8')
  style(): string {
    return STYLE;
  }

  @Get('sandbox/assets/return.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return RETURN_SCRIPT;
  }

  /** Shows the page, or the payment that was made: that one through a 303, so that a reload pays nothing again. */
  private async show(
    response: ServerResponse,
    billId: string,
    page: (opened: Opened) => Page | Payment,
  ): Promise<void> {
    const shown = this.open(billId, page);
    await this.store.durable();
    if ('content' in shown) return sendPage(response, shown);
    response.writeHead(303, { location: `/transfer/${shown.billId}/payments/${shown.id}` }).end();
  }

  private open(billId: string, page: (opened: Opened) => Page | Payment): Page | Payment {
    const bill = this.store.bills.get(billId);
    const shop = bill && this.store.shops.get(bill.shopId);
    if (!bill || !shop) return messagePage(404, 'No such bill', 'There is no bill at this address.');
    if (shop.banned) return messagePage(403, 'Payment not possible', 'The shop of this bill is blocked.');
    try {
      return page({ shop, bill, due: dueOf(bill, shop), payments: this.store.paymentsOf(billId) });
    } catch (error) {
      if (error instanceof SandboxError) return messagePage(error.status, 'Payment not possible', error.message);
      throw error;
    }
  }
}

function dueOf(bill: Bill, shop: Shop): string {
  return formatMinor(amountDue(bill, shop.commissionPercent));
}

/** A bill that is paid cannot be paid again here, nor while a payment is under way. */
function paidOr<T>(opened: Opened, otherwise: () => T): T | Page {
  const paid = opened.payments.find(({ status }) => status === 'SUCCESS');
  if (paid) return paidPage(opened, paid);
  const underWay = opened.payments.find(({ status }) => status === 'NEW' || status === 'PROCESS');
  return underWay ? processingPage(underWay) : otherwise();
}

async function readForm(request: SandboxRequest): Promise<URLSearchParams> {
  if (request.body === undefined || request.rawBody) {
    return new URLSearchParams((await readBytes(request)).toString('utf8'));
  }
  const body = isFields(request.body) ? request.body : {};
  return new URLSearchParams(Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]));
}
