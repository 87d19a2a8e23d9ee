import type { PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
import {
  CONSTANTS,
  DEFAULT_CONSTANTS,
  type ConstantOverrides,
} from '../../libs/payment-acceptance/src/config/constants.js';

type Group<G extends keyof ConstantOverrides> = G extends keyof PaymentAcceptanceOptions
  ? Extract<PaymentAcceptanceOptions[G], false> | (Exclude<PaymentAcceptanceOptions[G], false> & ConstantOverrides[G])
  : ConstantOverrides[G];

/** The module's options, and among them constants that only tests change. */
export type TestedOptions = Partial<Omit<PaymentAcceptanceOptions, keyof ConstantOverrides>> & {
  [G in keyof ConstantOverrides]?: Group<G>;
};

/** Moves the constants among these to where the module looks for them. */
export function withConstants(given: TestedOptions): Partial<PaymentAcceptanceOptions> {
  const options: Record<string, unknown> = { ...given };
  const constants: Record<string, object> = {};
  for (const [name, group] of Object.entries(DEFAULT_CONSTANTS)) {
    const entries = Object.entries(options[name] ?? {});
    if (entries.length === 0) continue;
    constants[name] = Object.fromEntries(entries.filter(([key]) => key in group));
    options[name] = Object.fromEntries(entries.filter(([key]) => !(key in group)));
  }
  delete options.creation;
  delete options.shopLookup;
  return { ...options, [CONSTANTS]: constants } as Partial<PaymentAcceptanceOptions>;
}
