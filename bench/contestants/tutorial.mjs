// A postback handler as tutorials show it: a validated DTO, the digest, findOne, save.
import {
  Body,
  Controller,
  ForbiddenException,
  HttpCode,
  NotFoundException,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { Inject } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';
import { ordersIn } from '../lib/orders.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';
import { PostbackDto } from '../lib/tutorial-dto.mjs';

const Order = ordersIn('tutorial_order');

class Postbacks {
  /** @param {import('typeorm').Repository<import('../lib/orders.mjs').StoredOrder>} orders */
  constructor(orders) {
    this.orders = orders;
  }

  /** @param {import('../lib/tutorial-dto.mjs').Postback} dto */
  async take(dto) {
    const digest = createHash('md5').update(`${dto.OutSum}:${dto.InvId}:${SHOP.token}`).digest('hex').toUpperCase();
    if (digest !== dto.SignatureValue) throw new ForbiddenException();
    const order = await this.orders.findOne({ where: { billId: dto.TrsId } });
    if (!order) throw new NotFoundException();
    order.status = dto.Status === 'SUCCESS' ? 'paid' : 'failed';
    order.paidAmount = dto.OutSum;
    order.paidAt = new Date();
    await this.orders.save(order);
    return 'OK';
  }
}
method(Postbacks, 'take', [Post('postback'), HttpCode(200)], [[Body(), PostbackDto]]);
provider(Postbacks, Controller(), [Inject(getRepositoryToken(Order))]);

await serve(
  options.adapter,
  '/postback',
  {
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: options.databaseUrl, entities: [Order], synchronize: true }),
      TypeOrmModule.forFeature([Order]),
    ],
    controllers: [Postbacks],
  },
  (app) => app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true })),
);
