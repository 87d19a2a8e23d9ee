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

const POLL_MS = 400;
const MAX_WATCH_MS = 120_000;
const MAX_WATCHERS = 200;

/** A text that differs whenever the order looks different. */
export function versionOf({ status, note, events }: Order): string {
  return [status, events.length, note ?? ''].join(' ');
}

/**
 * Streams orders as they change, whichever instance of the shop changed them, by polling their rows. One query per poll
 * serves all watchers. Both the number of watchers and how long each may watch are bounded.
 */
@Injectable()
export class OrderWatch implements BeforeApplicationShutdown {
  private readonly logger = new Logger('OrderWatch');
  private readonly watched: string[] = [];
  /** Replays its value, so that a browser that reconnects before the server has closed is disconnected, too. */
  private readonly closing = new ReplaySubject<void>(1);
  private readonly snapshots: Observable<Map<string, Order>>;

  constructor(orders: OrdersService) {
    const loadWatched = (): Observable<Map<string, Order>> =>
      defer(() => orders.findAll([...new Set(this.watched)])).pipe(
        map((foundOrders) => new Map(foundOrders.map((order) => [order.id, order]))),
        catchError((error: unknown) => {
          this.logger.warn(`Could not read the watched orders; the next poll tries again: ${String(error)}`);
          return EMPTY; // the next poll tries again
        }),
      );
    this.snapshots = timer(0, POLL_MS).pipe(exhaustMap(loadWatched), share());
  }

  /**
   * The order now and after each change; completes when it is paid or cancelled, or after two minutes.
   * @throws ServiceUnavailableException while there are too many watchers
   */
  watch(id: string): Observable<Order> {
    if (this.watched.length >= MAX_WATCHERS)
      throw new ServiceUnavailableException('Too many open order pages. Try again in a few minutes.');
    return defer(() => {
      this.watched.push(id);
      return this.snapshots.pipe(
        map((orders) => orders.get(id)),
        filter((order) => order !== undefined),
        distinctUntilChanged((one, other) => versionOf(one) === versionOf(other)),
        takeWhile((order) => !isFinal(order), true),
        takeUntil(merge(this.closing, timer(MAX_WATCH_MS))),
        finalize(() => this.watched.splice(this.watched.indexOf(id), 1)),
      );
    });
  }

  /** Ends the open streams, which would keep the server from closing. */
  beforeApplicationShutdown(): void {
    this.closing.next();
  }
}
