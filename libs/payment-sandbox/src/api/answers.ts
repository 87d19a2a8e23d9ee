import { serviceTime } from '../common/clock.js';
import { JsonNumber, jsonText } from '../common/json-text.js';
import type { Bill, Payment, Shop } from '../model/entities.js';

/** The body is JSON unless a fault corrupts it. */
export interface ApiAnswer {
  status: number;
  body: string;
  /** Default `application/json`. */
  type?: string;
}

/** The errors of section 7 have the documented status and message; the shape of the body is assumed. */
export class ApiRefusal extends Error {
  private constructor(
    readonly status: number,
    message: string,
    /** What was wrong, for the developer reading the console. Never sent. */
    readonly why: string = message,
    private readonly extraFields: Record<string, unknown> = {},
  ) {
    super(message);
  }

  static readonly unauthenticated = (why?: string): ApiRefusal => new ApiRefusal(401, 'Unauthenticated', why);
  static readonly merchantNotFound = (why?: string): ApiRefusal =>
    new ApiRefusal(403, 'api:error.merchant_not_found', why);
  static readonly merchantBanned = (why?: string): ApiRefusal => new ApiRefusal(403, 'api:error.merchant_banned', why);
  static readonly billNotFound = (why?: string): ApiRefusal => new ApiRefusal(403, 'api:error.bill_not_found', why);
  static readonly tooManyPayments = (why?: string): ApiRefusal =>
    new ApiRefusal(400, 'api:error.too_many_payments', why);

  /** Not in the specification; assumed. */
  static invalid(field: string, message: string, why?: string): ApiRefusal {
    return new ApiRefusal(400, message, why, { errors: { [field]: [message] } });
  }

  /** Not in the specification; assumed. */
  static withStatus(status: number, message: string, why?: string): ApiRefusal {
    return new ApiRefusal(status, message, why);
  }

  get answer(): ApiAnswer {
    return { status: this.status, body: jsonText({ message: this.message, success: false, ...this.extraFields }) };
  }
}

/** The answer of 2.2, where `success` is a string unless the shop's `creationSuccess` says otherwise. */
export function createdAnswer(bill: Bill, shop: Shop, payUrl: string): ApiAnswer {
  return {
    status: 200,
    body: jsonText({
      success: shop.creationSuccess === 'boolean' ? true : 'true',
      link_url: `${payUrl}/link/${bill.id}`,
      link_page_url: `${payUrl}/transfer/${bill.id}`,
      bill_id: bill.id,
    }),
  };
}

/** The answer of 4.2, where `success` is a boolean. The order, oldest first, is assumed. */
export function paymentsAnswer(payments: readonly Payment[]): ApiAnswer {
  return { status: 200, body: jsonText({ data: payments.map(paymentFields), success: true }) };
}

/** The fields of 2.3. Assumed: `commission` and the `account_…` fields, which typed clients read. */
function paymentFields(payment: Payment): Record<string, unknown> {
  return {
    id: payment.id,
    bill_id: payment.billId,
    status: payment.status,
    amount: new JsonNumber(payment.amount),
    amount_received: new JsonNumber(payment.amountReceived),
    commission: new JsonNumber(payment.commission),
    account_amount: new JsonNumber(payment.amountReceived),
    account_currency_code: payment.currency,
    from_card: payment.fromCard,
    currency_in: payment.currency,
    created_at: serviceTime(payment.createdAt),
  };
}
