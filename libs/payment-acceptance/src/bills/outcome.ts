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
 * Whether a creation that ended so may have made a bill. Only an understood refusal, and a request that provably never
 * left, are certain to have made none.
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
