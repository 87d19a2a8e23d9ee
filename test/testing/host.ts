import { Controller, Injectable, Module, Post, type DynamicModule } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  InjectPaymentShop,
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentShop,
  type PaymentAcceptanceExtras,
  type PaymentAcceptanceOptions,
  type PaymentEventContext,
  type PaymentFailedEvent,
  requireOrder,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Column, Entity, PrimaryColumn, Repository, type EntityManager } from 'typeorm';
import { randomUUID } from 'node:crypto';

/** A host application as its authors would write it: nothing in it knows about tests. */

@Entity()
export class CartOrder {
  @PrimaryColumn() id!: string;
  @Column() status!: string;
}

@Injectable()
export class Checkout {
  constructor(
    @InjectRepository(CartOrder) private readonly orders: Repository<CartOrder>,
    private readonly payments: PaymentAcceptanceService,
    @InjectPaymentShop('eu') private readonly eu: PaymentShop,
  ) {}

  async begin(shop: 'main' | 'eu' = 'main', orderId: string = randomUUID()): Promise<{ orderId: string }> {
    await this.orders.save({ id: orderId, status: 'pending' });
    await (shop === 'eu' ? this.eu : this.payments).createBill({ orderId, amount: '100.05' });
    return { orderId };
  }

  async status(id: string): Promise<string> {
    return (await this.orders.findOneByOrFail({ id })).status;
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  async markPaid({ orderId }: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    await manager.update(CartOrder, { id: orderId }, { status: 'paid' });
  }

  @OnPaymentFailed({ consumer: 'orders' })
  async markFailed(
    { orderId, orderPaid }: PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    if (!orderPaid) await manager.update(CartOrder, { id: orderId }, { status: 'failed' });
  }
}

/** A handler that fails as often as told. */
@Injectable()
export class Mailer {
  failures = 0;
  sent = 0;
  hasNoOrder = false;

  @OnPaymentSucceeded({ consumer: 'mails' })
  send(event: PaymentSucceededEvent): void {
    if (this.hasNoOrder) requireOrder(event, undefined);
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('the mail server is away');
    }
    this.sent += 1;
  }
}

@Controller('checkout')
export class CheckoutController {
  constructor(private readonly checkout: Checkout) {}

  @Post()
  begin(): Promise<{ orderId: string }> {
    return this.checkout.begin();
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([CartOrder]), PaymentAcceptanceModule.forFeature('eu')],
  controllers: [CheckoutController],
  providers: [Checkout, Mailer],
})
class OrdersModule {}

/** The live settings, which no test may ever use. */
export const LIVE: PaymentAcceptanceOptions = {
  shops: {
    main: { shopId: '17', apiToken: 'live-token-0123456789', apiBaseUrl: 'https://api.pay.example' },
    eu: { shopId: '17', apiToken: 'live-token-0123456789', apiBaseUrl: 'https://api.pay.example', currency: 'EUR' },
  },
};

@Module({})
export class AppModule {
  static with(
    url: string,
    { options = () => LIVE, ...extras }: PaymentAcceptanceExtras & { options?: () => PaymentAcceptanceOptions } = {},
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url, autoLoadEntities: true, synchronize: true }),
        PaymentAcceptanceModule.forRootAsync({ ...extras, useFactory: options }),
        OrdersModule,
      ],
    };
  }
}
