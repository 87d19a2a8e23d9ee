import { type BeforeApplicationShutdown, Injectable, Logger, ServiceUnavailableException } from '@nestjs/common';
import {
  catchError,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  map,
  merge,
  type Observable,
  ReplaySubject,
  share,
  takeUntil,
  takeWhile,
  timer,
} from 'rxjs';
import { isFinal, type Order } from './order.entity.js';
import { OrdersService } from './orders.service.js';

const LOOK_MS = 400;
const LONGEST_MS = 120_000;
const MOST_WATCHERS = 200;

/** A text that differs whenever the order looks different. */
export function versionOf({ status, note, events }: Order): string {
  return [status, events.length, note ?? ''].join(' ');
}

/**
 * Streams orders as they change, whichever instance of the shop changed them, by polling their rows. One query per poll
 * serves all watchers. Both their number and the time they watch are bounded.
 */
@Injectable()
export class OrderWatch implements BeforeApplicationShutdown {
  private readonly logger = new Logger('OrderWatch');
  private readonly watched: string[] = [];
  /** Replayed, for a browser that connects again before the server has closed. */
  private readonly closing = new ReplaySubject<void>(1);
  private readonly looks: Observable<Map<string, Order>>;

  constructor(orders: OrdersService) {
    const look = (): Observable<Map<string, Order>> =>
      defer(() => orders.findAll([...new Set(this.watched)])).pipe(
        map((found) => new Map(found.map((order) => [order.id, order]))),
        catchError((error: unknown) => {
          this.logger.warn(`The orders that are watched could not be read: ${String(error)}`);
          return EMPTY; // the next poll tries again
        }),
      );
    this.looks = timer(0, LOOK_MS).pipe(exhaustMap(look), share());
  }

  /**
   * The order now and after each change; completes when it is paid or cancelled, or after two minutes.
   * @throws ServiceUnavailableException while too many watch
   */
  watch(id: string): Observable<Order> {
    if (this.watched.length >= MOST_WATCHERS) throw new ServiceUnavailableException('Too many are looking.');
    return defer(() => {
      this.watched.push(id);
      return this.looks.pipe(
        map((orders) => orders.get(id)),
        filter((order) => order !== undefined),
        distinctUntilChanged((one, other) => versionOf(one) === versionOf(other)),
        takeWhile((order) => !isFinal(order), true),
        takeUntil(merge(this.closing, timer(LONGEST_MS))),
        finalize(() => this.watched.splice(this.watched.indexOf(id), 1)),
      );
    });
  }

  /** An open stream would keep the server from closing. */
  beforeApplicationShutdown(): void {
    this.closing.next();
  }
}
