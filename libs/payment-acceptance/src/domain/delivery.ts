/**
 * States of a delivery: one event on its way to one consumer.
 *
 * | state | meaning | set by |
 * |---|---|---|
 * | PENDING | not delivered yet: waits for its turn or its next attempt, or is leased while an attempt runs | settlement/, with its event; an operator who replays a dead letter |
 * | DONE | delivered | events/: in the handler's own transaction, or after a consumer without one has returned |
 * | DEAD | a dead letter: its attempts are used up, or the handler threw a PaymentNonRetryableError | events/ |
 */
export type DeliveryState = 'PENDING' | 'DONE' | 'DEAD';
