import { PaymentConfigurationError } from '../config/configuration.error.js';
import { PAYMENT_EVENT_NAMES, type PaymentEventName } from '../domain/payment-events.js';
import { DEFAULT_SOURCE } from './cloud-event.js';
import { isPaymentEventName } from '../events/handler.decorators.js';
import type { PaymentBrokerOptions } from './options.js';

/** The options that all brokers share, validated, with defaults filled in. */
export interface ResolvedBrokerOptions {
  readonly consumer: string;
  readonly events: readonly PaymentEventName[];
  readonly shops: readonly string[] | null;
  readonly source: string;
  readonly connectTimeoutMs: number;
  readonly acknowledgeTimeoutMs: number;
}

const MAX_TIMEOUT_MS = 600_000;

/**
 * @param further the options that only this broker has, each with what its module found wrong
 * @throws PaymentConfigurationError
 */
export function resolveBrokerOptions(
  given: PaymentBrokerOptions,
  module: string,
  consumer: string,
  further: Readonly<Record<string, string | false>>,
): ResolvedBrokerOptions {
  const source: unknown = given.source ?? DEFAULT_SOURCE;
  const resolved = {
    consumer: given.consumer ?? consumer,
    events: given.events ?? PAYMENT_EVENT_NAMES,
    shops: given.shops ?? null,
    source: String(source).replace(/\/+$/, ''),
    connectTimeoutMs: given.connectTimeoutMs ?? 5_000,
    acknowledgeTimeoutMs: given.acknowledgeTimeoutMs ?? 10_000,
  };
  const problems = Object.entries(further).flatMap(([name, problem]) => (problem ? `${name}: ${problem}` : []));
  for (const name of Object.keys(given)) {
    if (!(name in resolved || name in further)) problems.push(`${name}: there is no such option.`);
  }
  if (resolved.shops && !isList(resolved.shops)) problems.push('shops: must be a list of shop names; omit it for all.');
  if (!isList(resolved.events) || !resolved.events.every(isPaymentEventName)) {
    problems.push(`events: must list one or more of ${PAYMENT_EVENT_NAMES.join(', ')}; omit it for all.`);
  }
  if (new Set(resolved.events).size !== resolved.events.length) problems.push('events: lists one twice.');
  if (/[^!-~]|[<>"{}|\\^`]/.test(resolved.source)) {
    problems.push('source: must be a URI reference, such as https://shop.example/payments.');
  }
  for (const name of ['connectTimeoutMs', 'acknowledgeTimeoutMs'] as const) {
    if (!Number.isInteger(resolved[name]) || resolved[name] < 1 || resolved[name] > MAX_TIMEOUT_MS) {
      problems.push(`${name}: must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}.`);
    }
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems, module);
  return resolved;
}

const isList = (given: unknown): boolean => Array.isArray(given) && given.length > 0;

/**
 * Whether each is an address with one of these protocols. Never put an address into a message: it may hold a password.
 */
export function areAddresses(given: unknown, protocols: readonly string[]): boolean {
  const all: unknown[] = Array.isArray(given) ? given : [given];
  const fits = (each: unknown): boolean =>
    typeof each === 'string' && URL.canParse(each) && protocols.includes(new URL(each).protocol);
  return all.length > 0 && all.every(fits);
}

/** Event and shop, as in `payment.succeeded.main`: the default routing key or subject. */
export const topicOf = (event: { readonly type: string; readonly data: { readonly shop: string } }): string =>
  `${event.type}.${event.data.shop}`;
