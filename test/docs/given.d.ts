// What the documentation assumes about the reader's application.

/** The reader's order entity. */
declare class Order {
  id: string;
  amount: string;
  currency: string;
  status: 'pending' | 'paid' | 'not_paid' | 'cancelled';
  note: string | null;
}

/** The reader's whole application. */
declare class AppModule {
  configure(): void;
}

/** The reader's module of orders. */
declare class OrdersModule {
  configure(): void;
}

/** Exempts a route from the reader's global guard. */
declare const Public: () => MethodDecorator & ClassDecorator;

/** Where the reader's shop listens, and a bill that it has created. */
declare const shopUrl: string;
declare const billId: string;

/** The client that the reader's `prisma generate` has written, for a schema with the model `Order`. */
declare module '*/generated/prisma/client.js' {
  interface OrderWhere {
    id?: string;
    amount?: string;
    currency?: string;
    status?: string;
  }
  interface Delegate {
    updateMany(change: { where: OrderWhere; data: { status?: string; note?: string } }): Promise<{ count: number }>;
  }
  namespace Prisma {
    interface TransactionClient {
      readonly order: Delegate;
      $queryRawUnsafe<T = unknown>(sql: string, ...values: unknown[]): Promise<T>;
      $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
    }
  }
  class PrismaClient {
    constructor(options?: { readonly adapter: object });
    $transaction<T>(work: (tx: Prisma.TransactionClient) => Promise<T>, options?: object): Promise<T>;
  }
}
