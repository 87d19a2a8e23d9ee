// A whole payment as tutorials show it: inside the request the service is asked, the order locked, updated, and an event emitted.
import { HttpModule, HttpService } from '@nestjs/axios';
import {
  Body,
  Controller,
  ForbiddenException,
  HttpCode,
  Inject,
  Injectable,
  NotFoundException,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { getDataSourceToken } from '@nestjs/typeorm';
import { createHash } from 'node:crypto';
import { firstValueFrom } from 'rxjs';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';
import { databaseOf, Order } from '../lib/orders.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';
import { PostbackDto } from '../lib/tutorial-dto.mjs';

class Postbacks {
  /**
   * @param {import('typeorm').DataSource} dataSource
   * @param {HttpService} http
   * @param {EventEmitter2} events
   */
  constructor(dataSource, http, events) {
    this.dataSource = dataSource;
    this.http = http;
    this.events = events;
  }

  /** @param {import('../lib/tutorial-dto.mjs').Postback} dto */
  async take(dto) {
    const digest = createHash('md5').update(`${dto.OutSum}:${dto.InvId}:${SHOP.token}`).digest('hex').toUpperCase();
    if (digest !== dto.SignatureValue) throw new ForbiddenException();
    /** @type {{ data: { data: { status: string; amount: string }[] } }} */
    const { data: answer } = await firstValueFrom(
      this.http.get(`${options.serviceUrl}/api/v1/bill/payments`, {
        params: { id: dto.TrsId },
        headers: { Authorization: `Bearer ${SHOP.token}` },
      }),
    );
    const payment = answer.data.find(({ status }) => status === 'SUCCESS');
    if (!payment) return 'OK';
    const order = await this.dataSource.transaction(async (manager) => {
      const found = await manager.findOne(Order, {
        where: { billId: dto.TrsId },
        lock: { mode: 'pessimistic_write' },
      });
      if (!found) throw new NotFoundException();
      if (found.status === 'paid') return undefined;
      found.status = 'paid';
      found.paidAmount = payment.amount;
      found.paidAt = new Date();
      return manager.save(Order, found);
    });
    if (order) this.events.emit('order.paid', order);
    return 'OK';
  }
}
method(Postbacks, 'take', [Post('postback'), HttpCode(200)], [[Body(), PostbackDto]]);
provider(Postbacks, Controller(), [Inject(getDataSourceToken()), Inject(HttpService), Inject(EventEmitter2)]);

class Listener {
  /** @param {import('typeorm').DataSource} dataSource */
  constructor(dataSource) {
    this.dataSource = dataSource;
  }

  /** Does nothing, unless it is to note what it has heard. @param {import('../lib/orders.mjs').StoredOrder} order */
  async onPaid({ id }) {
    if (options.notes) await this.dataSource.query('INSERT INTO handled VALUES ($1)', [id]);
  }
}
method(Listener, 'onPaid', [OnEvent('order.paid')]);
provider(Listener, Injectable(), [Inject(getDataSourceToken())]);

await serve(
  options.adapter,
  '/postback',
  {
    imports: [databaseOf(options), HttpModule, EventEmitterModule.forRoot()],
    controllers: [Postbacks],
    providers: [Listener],
  },
  (app) => app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true })),
);
