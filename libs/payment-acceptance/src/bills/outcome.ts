import {
  BillNotFoundError,
  MerchantBannedError,
  MerchantNotFoundError,
  RequestAbortedError,
  RequestRefusedError,
  ServiceNetworkError,
  TooManyPaymentsError,
  UnauthenticatedError,
  type PaymentServiceError,
} from '../client/service.errors.js';

/**
 * Whether a creation that ended with this error may have created a bill. Only an understood refusal, or a request that
 * provably never left, is certain to have created none.
 */
export function mayHaveMadeABill(error: PaymentServiceError): boolean {
  if (error instanceof ServiceNetworkError || error instanceof RequestAbortedError) return error.mayHaveLeft;
  return !(
    error instanceof RequestRefusedError ||
    error instanceof UnauthenticatedError ||
    error instanceof MerchantNotFoundError ||
    error instanceof MerchantBannedError ||
    error instanceof BillNotFoundError ||
    error instanceof TooManyPaymentsError
  );
}
