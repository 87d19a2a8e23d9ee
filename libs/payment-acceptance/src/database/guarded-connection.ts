import type { DataSource, QueryRunner } from 'typeorm';
import { statementRefused } from './database.errors.js';

/**
 * Refuses the driver's client that the runner's `connect` hands out, once the connection is another caller's: what a handler
 * sends to it then would run in somebody else's transaction. A released runner would even take another one from the pool. A handler
 * that releases the runner keeps it until then: what comes next would run in our transaction.
 */
export function guardConnection({ driver }: DataSource, runner: QueryRunner, isOver: () => boolean): void {
  const connect = runner.connect.bind(runner) as () => Promise<object>;
  runner.connect = async () => {
    if (isOver()) throw statementRefused();
    return guarded(await connect(), isOver);
  };
  const release = runner.release.bind(runner);
  runner.release = async () => {
    if (isOver()) return release();
    // To close its pool, TypeORM releases the runners of this list until there is none.
    const { connectedQueryRunners = [] } = driver as { readonly connectedQueryRunners?: QueryRunner[] };
    const place = connectedQueryRunners.indexOf(runner);
    if (place >= 0) connectedQueryRunners.splice(place, 1);
  };
}

function guarded(client: object, isOver: () => boolean): object {
  const guard: object = new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        if (isOver()) throw statementRefused();
        const answer: unknown = Reflect.apply(value, target, given);
        if (answer === target) return guard;
        // The same connection of `mysql2`, for callers that want promises.
        return key === 'promise' ? guarded(answer as object, isOver) : answer;
      };
    },
  });
  return guard;
}
