import type { ValueProvider } from '@nestjs/common';

/** Token that each of the package's modules provides once for each registration. */
export const REGISTRATION = 'nestjs-payment-acceptance/registration';

let registrations = 0;

/**
 * Distinguishes registrations of a module if Nest compares their contents (`moduleIdGeneratorAlgorithm: 'deep-hash'`):
 * our options are in closures, which all look alike.
 */
export function registration(): ValueProvider {
  registrations += 1;
  return { provide: REGISTRATION, useValue: registrations };
}
