import type { Provider } from '@nestjs/common';
import { CheckRequests } from './check-requests.js';
import { PaymentServiceClient } from './payment-service.client.js';

/** Requests to the service, and how many at once. */
export const CLIENT: readonly Provider[] = [PaymentServiceClient, CheckRequests];
