import { clearTimeout, setTimeout as startTimer } from 'node:timers';
import { PaymentTestingError } from './testing.errors.js';

/** Far longer than a payment takes in a test. */
const PATIENCE_MS = 5_000;

/** Ends waits that a test's fake timers would make endless: the application's timers and clocks are frozen, too. */
export class Patience {
  /** What has begun under fake timers may never end, whatever the test does later. */
  private lost = false;

  /** @throws PaymentTestingError that says what to fake instead */
  async wait<T>(work: Promise<T>): Promise<T> {
    // The property is of @sinonjs/fake-timers, as in Jest and Vitest. Some advance by themselves, so they may work.
    if (!this.lost && !('clock' in globalThis.setTimeout)) return work;
    let timer: NodeJS.Timeout | undefined;
    const frozen = new Promise<never>((_resolve, reject) => {
      timer = startTimer(() => {
        this.lost = true;
        reject(new PaymentTestingError(FROZEN));
      }, PATIENCE_MS);
    });
    return Promise.race([work, frozen]).finally(() => clearTimeout(timer));
  }
}

const FROZEN =
  "This process's timers are faked, and the application cannot proceed without them. Fake only Date, as with " +
  "vi.useFakeTimers({ toFake: ['Date'] }) or Jest's doNotFake, or nothing: clock.advance('3d') lets time pass for the module and " +
  'the sandbox.';
