import { isRecord } from '../../common/objects.js';
import type { PaymentCloudEvent } from '../cloud-event.js';

/** The message is not one of our events, and redelivering it will not change that. */
export class UnreadablePaymentEventError extends Error {
  override readonly name = 'UnreadablePaymentEventError';
}

/** Every envelope has these; CloudEvents 1.0 itself requires only `id`, `source` and `type` of them. */
const ATTRIBUTES = ['id', 'source', 'type', 'subject', 'time', 'partitionkey'] as const;

/**
 * Reads the envelope in a message: its body as bytes or text, or as a framework has parsed it. `type` may come from a
 * later release: acknowledge and ignore types that you do not know.
 * @throws UnreadablePaymentEventError
 */
export function readPaymentEvent(message: unknown): PaymentCloudEvent {
  const event = parseMessage(message);
  if (event['specversion'] !== '1.0')
    throw new UnreadablePaymentEventError('The message is not a CloudEvent of version 1.0.');
  const missing = ATTRIBUTES.filter((name) => typeof event[name] !== 'string' || event[name] === '');
  if (missing.length > 0) throw new UnreadablePaymentEventError(`The CloudEvent has no ${missing.join(', ')}.`);
  if (!isRecord(event['data'])) throw new UnreadablePaymentEventError('The data of the CloudEvent is not an object.');
  return event as unknown as PaymentCloudEvent;
}

function parseMessage(message: unknown): Record<string, unknown> {
  let value = message;
  if (message instanceof Uint8Array || typeof message === 'string') {
    const text = typeof message === 'string' ? message : new TextDecoder().decode(message);
    try {
      value = JSON.parse(text);
    } catch {
      throw new UnreadablePaymentEventError('The message is not JSON.');
    }
  }
  if (!isRecord(value)) throw new UnreadablePaymentEventError('The message is not a JSON object.');
  return value;
}
