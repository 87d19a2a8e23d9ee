/**
 * States of a delivery: one event on its way to one consumer.
 *
 * | state | meaning | who brings a delivery there |
 * |---|---|---|
 * | PENDING | not taken yet: waiting for its turn, or for another attempt, or under a lease while one runs | settlement/, with its event; an operator who replays a dead letter |
 * | DONE | the consumer has taken it | events/: in the handler's own transaction, or after a consumer without one has returned |
 * | DEAD | a dead letter: its attempts are used up, or the handler threw a NonRetryableError | events/ |
 */
export type DeliveryState = 'PENDING' | 'DONE' | 'DEAD';
