import type { ValueProvider } from '@nestjs/common';

let registrations = 0;

/**
 * Tells registrations of a module apart where Nest compares what they are made of (`moduleIdGeneratorAlgorithm: 'deep-hash'`): our
 * options are in closures, which all look alike.
 */
export function registration(): ValueProvider {
  registrations += 1;
  return { provide: 'nestjs-payment-acceptance/registration', useValue: registrations };
}
