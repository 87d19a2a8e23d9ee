import type { DataSource, QueryRunner } from 'typeorm';
import { statementRefused } from './database.errors.js';

/**
 * Makes the runner's `connect`, and the driver's client that it returns, refuse once `isOver()` holds: the connection
 * may then belong to another caller's transaction, and a released runner would take another one from the pool. If a
 * handler releases the runner earlier, the connection is kept, since what follows runs in our transaction.
 */
export function guardConnection({ driver }: DataSource, runner: QueryRunner, isOver: () => boolean): void {
  const connect = runner.connect.bind(runner) as () => Promise<object>;
  runner.connect = async () => {
    if (isOver()) throw statementRefused();
    return guardClient(await connect(), isOver);
  };
  const release = runner.release.bind(runner);
  runner.release = async () => {
    if (isOver()) return release();
    // To close its pool, TypeORM releases the runners in this list until it is empty: this one would never leave it.
    const { connectedQueryRunners = [] } = driver as { readonly connectedQueryRunners?: QueryRunner[] };
    const place = connectedQueryRunners.indexOf(runner);
    if (place >= 0) connectedQueryRunners.splice(place, 1);
  };
}

function guardClient(client: object, isOver: () => boolean): object {
  const guard: object = new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (isOver()) throw statementRefused();
        const answer: unknown = Reflect.apply(value, target, args);
        if (answer === target) return guard;
        // For callers that want promises, `mysql2` returns a wrapper of the same connection.
        return key === 'promise' ? guardClient(answer as object, isOver) : answer;
      };
    },
  });
  return guard;
}
