import type { PaymentEventMap, PaymentEventName } from '../domain/payment-events.js';
import type { AnyPaymentEvent } from '../events/consumer.js';

/** CloudEvents 1.0, structured mode. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** An event as it leaves the application: CloudEvents 1.0 (https://cloudevents.io). */
export interface PaymentCloudEventOf<Name extends PaymentEventName> {
  /** Version of CloudEvents. */
  readonly specversion: '1.0';
  /** The event's own id, which all copies of the event share. */
  readonly id: string;
  /** The sender: the option `source`, a slash, and the shop's name. */
  readonly source: string;
  /** Name of the event. */
  readonly type: Name;
  /** The order. Characters that attributes may not contain are replaced here, but not in `data`. */
  readonly subject: string;
  /** When it was settled: ISO 8601, UTC. */
  readonly time: string;
  /** Media type of `data`. */
  readonly datacontenttype: 'application/json';
  /** The bill (CloudEvents extension "partitioning"): events with the same key must stay in order. */
  readonly partitionkey: string;
  /** Continues the trace of the settlement (extension "distributed tracing"); absent if there is none. */
  readonly traceparent?: string;
  /** The event itself. */
  readonly data: PaymentEventMap[Name];
}

/** Any event as it leaves the application; discriminated by `type`. */
export type PaymentCloudEvent = { [Name in PaymentEventName]: PaymentCloudEventOf<Name> }[PaymentEventName];

export const DEFAULT_SOURCE = '/payment-acceptance';

/** What a string attribute may not contain: control characters and noncharacters (CloudEvents 1.0, type system). */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** @param source a URI reference without a trailing slash */
export function cloudEvent(event: AnyPaymentEvent, source: string, traceparent?: string | null): PaymentCloudEvent {
  const wrapped: PaymentCloudEventOf<PaymentEventName> = {
    specversion: '1.0',
    id: event.id,
    source: `${source}/${event.shop}`,
    type: event.name,
    subject: event.orderId.replace(FORBIDDEN_CHARACTERS, '\ufffd'),
    time: event.occurredAt,
    datacontenttype: 'application/json',
    partitionkey: event.billId.replace(FORBIDDEN_CHARACTERS, '\ufffd'),
    ...(traceparent && { traceparent }),
    data: event,
  };
  return wrapped as PaymentCloudEvent;
}
