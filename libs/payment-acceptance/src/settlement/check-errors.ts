import {
  PaymentBillNotFoundError,
  PaymentMerchantBannedError,
  PaymentMerchantNotFoundError,
  PaymentRequestRefusedError,
  PaymentServiceNetworkError,
  PaymentServiceUnavailableError,
  PaymentTooManyPaymentsError,
  PaymentUnauthenticatedError,
} from '../client/service.errors.js';

/** The service does not know this very bill, or refuses to list its payments. */
export function isRefusalOfBill(error: unknown): boolean {
  if (error instanceof PaymentBillNotFoundError) return true;
  return error instanceof PaymentRequestRefusedError && error.isFromService;
}

/** The service is down, or says that it cannot answer now. */
export function isWithoutAnswer(error: unknown): boolean {
  return error instanceof PaymentServiceNetworkError || error instanceof PaymentServiceUnavailableError;
}

/** Concerns the whole shop only if several of its bills get the error. */
export function isRefusalOfShop(error: unknown): boolean {
  return (
    error instanceof PaymentUnauthenticatedError ||
    error instanceof PaymentMerchantBannedError ||
    error instanceof PaymentMerchantNotFoundError
  );
}

/** The service returns these only to a shop whose token and merchant it accepts. */
export function provesShopIsAccepted(error: unknown): boolean {
  return error instanceof PaymentBillNotFoundError || error instanceof PaymentTooManyPaymentsError;
}
