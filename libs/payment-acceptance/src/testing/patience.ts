import { clearTimeout, setTimeout as startTimer } from 'node:timers';
import { PaymentTestingError } from './testing.errors.js';

/** Far longer than a payment takes in a test. */
const WAIT_TIMEOUT_MS = 5_000;

/** Ends waits that a test's fake timers, which also freeze the application's, would make endless. */
export class FakeTimerGuard {
  /** Set once a wait has timed out: work begun under fake timers may never end, whatever the test does later. */
  private timersWereFaked = false;

  /** @throws PaymentTestingError that says what to fake instead */
  async wait<T>(work: Promise<T>): Promise<T> {
    // @sinonjs/fake-timers (Jest, Vitest) sets this property. Timers that advance by themselves may still work.
    if (!this.timersWereFaked && !('clock' in globalThis.setTimeout)) return work;
    let timer: NodeJS.Timeout | undefined;
    const frozen = new Promise<never>((_resolve, reject) => {
      timer = startTimer(() => {
        this.timersWereFaked = true;
        reject(new PaymentTestingError(FROZEN_TIMERS_MESSAGE));
      }, WAIT_TIMEOUT_MS);
    });
    return Promise.race([work, frozen]).finally(() => clearTimeout(timer));
  }
}

const FROZEN_TIMERS_MESSAGE =
  "This process's timers are faked, and the application cannot proceed without them. Fake only Date, as with " +
  "vi.useFakeTimers({ toFake: ['Date'] }) or Jest's doNotFake, or nothing: clock.advance('3d') lets time pass for the module and " +
  'the sandbox.';
