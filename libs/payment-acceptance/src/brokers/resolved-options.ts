import { PaymentConfigurationError } from '../config/configuration.error.js';
import { PAYMENT_EVENT_NAMES, type PaymentEventName } from '../domain/payment-events.js';
import { DEFAULT_SOURCE } from './cloud-event.js';
import { isPaymentEventName } from '../events/handler.decorators.js';
import type { PaymentBrokerOptions } from './options.js';

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
 * @param further the options that only this broker has, with the problem that its module found, or `false`
 * @throws PaymentConfigurationError
 */
export function resolveBrokerOptions(
  options: PaymentBrokerOptions,
  module: string,
  consumer: string,
  further: Readonly<Record<string, string | false>>,
): ResolvedBrokerOptions {
  const source: unknown = options.source ?? DEFAULT_SOURCE;
  const resolved = {
    consumer: options.consumer ?? consumer,
    events: options.events ?? PAYMENT_EVENT_NAMES,
    shops: options.shops ?? null,
    source: String(source).replace(/\/+$/, ''),
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    acknowledgeTimeoutMs: options.acknowledgeTimeoutMs ?? 10_000,
  };
  const problems = Object.entries(further).flatMap(([name, problem]) => (problem ? `${name}: ${problem}` : []));
  for (const name of Object.keys(options)) {
    if (!(name in resolved || name in further)) problems.push(`${name}: there is no such option.`);
  }
  if (resolved.shops && !isList(resolved.shops)) problems.push('shops: must be a list of shop names; omit it for all.');
  if (!isList(resolved.events) || !resolved.events.every(isPaymentEventName)) {
    problems.push(`events: must list one or more of ${PAYMENT_EVENT_NAMES.join(', ')}; omit it for all.`);
  }
  if (new Set(resolved.events).size !== resolved.events.length) problems.push('events: lists an event twice.');
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

const isList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** Never put an address into a message: it may contain a password. */
export function areAddresses(value: unknown, protocols: readonly string[]): boolean {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  const isAddress = (each: unknown): boolean =>
    typeof each === 'string' && URL.canParse(each) && protocols.includes(new URL(each).protocol);
  return all.length > 0 && all.every(isAddress);
}

/** Returns the default routing key or subject, such as `payment.succeeded.main`. */
export const topicOf = (event: { readonly type: string; readonly data: { readonly shop: string } }): string =>
  `${event.type}.${event.data.shop}`;
