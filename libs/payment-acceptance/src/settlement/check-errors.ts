import {
  BillNotFoundError,
  MerchantBannedError,
  MerchantNotFoundError,
  RequestRefusedError,
  ServiceNetworkError,
  ServiceUnavailableError,
  TooManyPaymentsError,
  UnauthenticatedError,
} from '../client/service.errors.js';

/** The service's word about this very bill: that it has none such, or lists nothing of it. */
export function isRefusalOfBill(error: unknown): boolean {
  return error instanceof BillNotFoundError || error instanceof RequestRefusedError;
}

/** The service is away, or says that it cannot answer now. */
export function isWithoutAnswer(error: unknown): boolean {
  return error instanceof ServiceNetworkError || error instanceof ServiceUnavailableError;
}

/** What concerns all bills of the shop alike, where the service says so of several of them. */
export function isRefusalOfShop(error: unknown): boolean {
  return (
    error instanceof UnauthenticatedError ||
    error instanceof MerchantBannedError ||
    error instanceof MerchantNotFoundError
  );
}

/** Answers that only a shop gets whose token and merchant the service knows. */
export function provesShopIsAccepted(error: unknown): boolean {
  return (
    error instanceof BillNotFoundError || error instanceof TooManyPaymentsError || error instanceof RequestRefusedError
  );
}
