import type { Provider } from '@nestjs/common';
import { PaymentMetrics } from './payment-metrics.js';
import { Telemetry } from './telemetry.js';

/** Spans and metrics. */
export const TELEMETRY: readonly Provider[] = [Telemetry, PaymentMetrics];
