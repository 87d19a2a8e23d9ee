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
