import { clearTimeout, setTimeout } from 'node:timers';
import { PaymentTestingError } from './testing.errors.js';

/** Kept from before a test could replace them. */
const timers = { setTimeout, clearTimeout };

/** Timers that a library advances by itself run within this time. */
const PATIENCE_MS = 200;

/**
 * Call it before work that needs timers: begun while they are frozen, it might never end, whatever the test does later.
 * @throws PaymentTestingError that says what to fake instead
 */
export async function assertTimersRun(): Promise<void> {
  const isFrozen = await new Promise<boolean>((resolve) => {
    const patience = timers.setTimeout(() => resolve(true), PATIENCE_MS);
    globalThis.setTimeout(() => {
      timers.clearTimeout(patience);
      resolve(false);
    }, 0);
  });
  if (isFrozen) throw new PaymentTestingError(FROZEN_TIMERS_MESSAGE);
}

const FROZEN_TIMERS_MESSAGE =
  "This process's timers are faked, and the application cannot proceed without them. Fake only Date, as with " +
  "vi.useFakeTimers({ toFake: ['Date'] }) or Jest's doNotFake, or nothing: clock.advance('3d') lets time pass for the module and " +
  'the sandbox.';
