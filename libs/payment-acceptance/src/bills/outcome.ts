import {
  PaymentBillNotFoundError,
  PaymentMerchantBannedError,
  PaymentMerchantNotFoundError,
  PaymentRequestAbortedError,
  PaymentRequestRefusedError,
  PaymentServiceNetworkError,
  PaymentTooManyPaymentsError,
  PaymentUnauthenticatedError,
  type PaymentServiceError,
} from '../client/service.errors.js';

/**
 * Whether a creation that ended with this error may have created a bill. Only an understood refusal, or a request that
 * provably never left, is certain to have created none.
 */
export function mayHaveMadeABill(error: PaymentServiceError): boolean {
  if (error instanceof PaymentServiceNetworkError || error instanceof PaymentRequestAbortedError)
    return error.mayHaveLeft;
  return !(
    error instanceof PaymentRequestRefusedError ||
    error instanceof PaymentUnauthenticatedError ||
    error instanceof PaymentMerchantNotFoundError ||
    error instanceof PaymentMerchantBannedError ||
    error instanceof PaymentBillNotFoundError ||
    error instanceof PaymentTooManyPaymentsError
  );
}
