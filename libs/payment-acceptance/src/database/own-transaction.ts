import type { Connection } from './connection-source.js';

/** A connection that several statements of the module share: a transaction of its own, or one that holds a lock. */
export class OwnTransaction {
  /** After this the connection belongs to another caller, and takes no further statement from here. */
  isOver = false;
  /** How many statements are under way. */
  running = 0;
  /** Whether the driver sends a statement without waiting for the answers to those before it. */
  isPipelined = false;
  /** Resolves when it has begun: where statements are pipelined, its first ones may be sent before. */
  begun: Promise<void> = Promise.resolve();

  /** @param tx what a handler is given, in one that TypeORM has begun for it */
  constructor(
    readonly connection: Connection,
    readonly tx?: unknown,
  ) {}
}
