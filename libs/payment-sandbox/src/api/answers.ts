import { JsonNumber, jsonText } from '../common/json-text.js';
import { serviceTime } from '../common/time.js';
import type { Bill, Payment, Shop } from '../model/entities.js';

/** The body is JSON unless a fault corrupts it. */
export interface ApiAnswer {
  status: number;
  body: string;
  /** Default `application/json`. */
  type?: string;
}

/** The errors of section 7. A fault of the same name causes each. */
const DOCUMENTED_ERRORS = {
  unauthenticated: [401, 'Unauthenticated'],
  merchantNotFound: [403, 'api:error.merchant_not_found'],
  merchantBanned: [403, 'api:error.merchant_banned'],
  billNotFound: [403, 'api:error.bill_not_found'],
  tooManyPayments: [400, 'api:error.too_many_payments'],
} as const;
type DocumentedError = keyof typeof DOCUMENTED_ERRORS;
export const DOCUMENTED_ERROR_NAMES = Object.keys(DOCUMENTED_ERRORS) as DocumentedError[];

/** Only the errors of section 7 are documented; that there are others, and the shape of the body, is assumed. */
export class ApiRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What was wrong, for the developer reading the console. Never sent. */
    readonly why: string = message,
    private readonly extraFields: Record<string, unknown> = {},
  ) {
    super(message);
  }

  static documented(error: DocumentedError, why?: string): ApiRefusal {
    const [status, message] = DOCUMENTED_ERRORS[error];
    return new ApiRefusal(status, message, why);
  }

  static invalid(field: string, message: string, why?: string): ApiRefusal {
    return new ApiRefusal(400, message, why, { errors: { [field]: [message] } });
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
