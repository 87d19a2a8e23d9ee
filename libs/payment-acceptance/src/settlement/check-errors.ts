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

/** The service's answer about this very bill: it does not know it, or refuses to list its payments. */
export function isRefusalOfBill(error: unknown): boolean {
  return error instanceof BillNotFoundError || error instanceof RequestRefusedError;
}

/** The service is down, or says that it cannot answer now. */
export function isWithoutAnswer(error: unknown): boolean {
  return error instanceof ServiceNetworkError || error instanceof ServiceUnavailableError;
}

/** An error that concerns the whole shop, if several of its bills get it. */
export function isRefusalOfShop(error: unknown): boolean {
  return (
    error instanceof UnauthenticatedError ||
    error instanceof MerchantBannedError ||
    error instanceof MerchantNotFoundError
  );
}

/** Errors that the service returns only to a shop whose token and merchant it accepts. */
export function provesShopIsAccepted(error: unknown): boolean {
  return (
    error instanceof BillNotFoundError || error instanceof TooManyPaymentsError || error instanceof RequestRefusedError
  );
}
