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
  share,
  Subject,
  takeUntil,
  takeWhile,
  timer,
} from 'rxjs';
import type { Order } from './order.entity.js';
import { OrdersService } from './orders.service.js';

const LOOK_MS = 400;
const LONGEST_MS = 120_000;
const MOST_WATCHERS = 200;

/** Another text for every state of an order that looks different. */
export function versionOf({ status, note, events }: Order): string {
  return [status, events.length, note ?? ''].join(' ');
}

/**
 * Tells of orders as they change, whichever instance of the shop made the change: it looks at their rows. However many
 * watch, one query a look asks for all their orders. Nobody watches for ever, and not more than a bounded number do.
 */
@Injectable()
export class OrderWatch implements BeforeApplicationShutdown {
  private readonly logger = new Logger('OrderWatch');
  private readonly watched: string[] = [];
  private readonly closing = new Subject<void>();
  private readonly looks: Observable<Map<string, Order>>;

  constructor(orders: OrdersService) {
    const look = (): Observable<Map<string, Order>> =>
      defer(() => orders.findAll([...new Set(this.watched)])).pipe(
        map((found) => new Map(found.map((order) => [order.id, order]))),
        catchError((error: unknown) => {
          this.logger.warn(`The orders that are watched could not be read: ${String(error)}`);
          return EMPTY; // the next look tells
        }),
      );
    this.looks = timer(0, LOOK_MS).pipe(exhaustMap(look), share());
  }

  /**
   * The order, as it is and whenever it has changed; ends when it is paid, and after two minutes.
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
        takeWhile(({ status }) => status !== 'paid', true),
        takeUntil(merge(this.closing, timer(LONGEST_MS))),
        finalize(() => this.watched.splice(this.watched.indexOf(id), 1)),
      );
    });
  }

  /** A stream that is open would keep the server from closing. */
  beforeApplicationShutdown(): void {
    this.closing.next();
  }
}
