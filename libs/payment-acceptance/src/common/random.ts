import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';

/**
 * The only source of randomness: intent ids, lease tokens, jitter. Replace it with `overrideProvider(PaymentRandom)`.
 */
@Injectable()
export class PaymentRandom {
  /** A random (version 4) UUID from a cryptographic source. */
  uuid(): string {
    return randomUUID();
  }

  /** A number from 0 (inclusive) to 1 (exclusive), for jitter only, never for a secret. */
  fraction(): number {
    return Math.random();
  }
}

/** A random UUID (version 7) that begins with the time, so that rows inserted together are adjacent in an index. */
export function timeOrderedUuid(random: PaymentRandom, now: Date): string {
  const digits = now.getTime().toString(16).padStart(12, '0').slice(-12);
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7${random.uuid().slice(15)}`;
}
