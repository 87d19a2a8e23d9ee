import type { Shop } from '../config/resolved-options.js';
import { AnswerProblem, isSuccess, MAX_ERROR_TEXT, parseAnswer, readMessage } from './answers.js';
import {
  PaymentAnswerNotUnderstoodError,
  PaymentBillNotFoundError,
  PaymentMerchantBannedError,
  PaymentMerchantNotFoundError,
  PaymentRequestRefusedError,
  PaymentServiceUnavailableError,
  PaymentTooManyPaymentsError,
  PaymentUnauthenticatedError,
  type PaymentServiceError,
  type ServiceOperation,
} from './service.errors.js';
import type { TransportAnswer } from './transport.js';

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an answer with a 2xx status.
 * @throws PaymentRequestRefusedError, PaymentAnswerNotUnderstoodError
 */
export function readAnswer<T>(
  shop: Shop,
  operation: ServiceOperation,
  answer: TransportAnswer,
  read: (fields: Fields) => T,
): T {
  const details = { shop: shop.name, operation, status: answer.status };
  const fields = parseAnswer(answer.text);
  if (!fields) throw new PaymentAnswerNotUnderstoodError(details, 'it is not a JSON object');
  if (!isSuccess(fields)) {
    const messageKey = messageOf(shop, answer);
    // A refusal that names a bill cannot be relied on.
    if (isRefusal(fields) && !namesBill(fields)) throw new PaymentRequestRefusedError({ ...details, messageKey }, true);
    throw new PaymentAnswerNotUnderstoodError({ ...details, messageKey }, 'it does not report success');
  }
  try {
    return read(fields);
  } catch (problem) {
    if (problem instanceof AnswerProblem) throw new PaymentAnswerNotUnderstoodError(details, problem.message);
    throw problem;
  }
}

/** The error for an answer with a status other than 2xx. */
export function errorOf(
  shop: Shop,
  operation: ServiceOperation,
  answer: TransportAnswer,
  now: Date,
): PaymentServiceError {
  const { status, text } = answer;
  const messageKey = messageOf(shop, answer);
  const details = { shop: shop.name, operation, status, messageKey };
  // The specification does not show the body's shape: the message that was read may be a sentence beside the key.
  const beginning = text.slice(0, MAX_ERROR_TEXT);
  const says = (key: string): boolean => messageKey?.includes(key) === true || beginning.includes(`api:error.${key}`);
  if (status === 401) return new PaymentUnauthenticatedError(details);
  if (status === 400 && says('too_many_payments')) return new PaymentTooManyPaymentsError(details);
  if (status === 403 && says('merchant_not_found')) return new PaymentMerchantNotFoundError(details);
  if (status === 403 && says('merchant_banned')) return new PaymentMerchantBannedError(details);
  if (status === 403 && says('bill_not_found')) return new PaymentBillNotFoundError(details);
  if (isUnavailable(status)) return new PaymentServiceUnavailableError(details, retryAfterMs(answer.retryAfter, now));
  const isLong = text.length > MAX_ERROR_TEXT;
  const fields = isLong ? undefined : parseAnswer(text);
  const mayNameBill = isLong ? text.includes('bill_id') : namesBill(fields);
  const isFromService = isRefusal(fields) || beginning.includes('api:error.');
  if (status >= 400 && !mayNameBill) return new PaymentRequestRefusedError(details, isFromService);
  return new PaymentAnswerNotUnderstoodError(
    details,
    status < 400 ? 'it is a redirect' : 'it is an error, yet names a bill',
  );
}

/** Whether the status means that the service cannot answer now (assumed). */
export function isUnavailable(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

/** Keeps a token that the service repeats in its message out of our errors. */
export function withoutTokens(shop: Shop, message: string): string {
  return [shop.token, ...shop.previousTokens].reduce(
    (text, token) => text.replaceAll(token.reveal(), '[secret]'),
    message,
  );
}

function messageOf(shop: Shop, answer: TransportAnswer): string | undefined {
  return readMessage(answer.text, (line) => withoutTokens(shop, line));
}

function isRefusal({ success }: Fields = {}): boolean {
  return success === false || (typeof success === 'string' && /^(false|0)$/i.test(success));
}

/** `null` and an empty text name no bill. Anything else may be the id of a bill that was created after all. */
function namesBill({ bill_id: billId }: Fields = {}): boolean {
  return billId !== undefined && billId !== null && billId !== '';
}

/** Reads `Retry-After`, whole seconds or an HTTP date; returns milliseconds. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const retryAt = Date.parse(header);
  return Number.isNaN(retryAt) ? undefined : Math.max(0, retryAt - now.getTime());
}
