import type { Provider } from '@nestjs/common';
import { PaymentClock } from './clock.js';
import { PaymentProbe } from './probe.js';
import { PaymentRandom } from './random.js';
import { WakeUps } from './wake-ups.js';

/** Time, randomness, the probe of tests, and what wakes the workers of this instance. */
export const COMMON: readonly Provider[] = [PaymentClock, PaymentProbe, PaymentRandom, WakeUps];
