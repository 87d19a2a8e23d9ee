import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Body, Controller, HttpException, Inject, Logger, Module, Param, Post, UseFilters } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import type { AddressInfo, Server } from 'node:net';
import { paymentHttpException, PaymentAcceptanceService, PaymentExceptionFilter } from 'nestjs-payment-acceptance';
import { PaymentOperatorActionError } from 'nestjs-payment-acceptance/operations';
import { firstValueFrom, timeout } from 'rxjs';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { startHarness, type Harness } from '../support/harness.js';
import { postJson } from '../support/http.js';

/** A checkout of a host, with the filter or without. */
abstract class Checkout {
  @Inject() private readonly payments!: PaymentAcceptanceService;

  @Post(':order')
  async pay(@Param('order') orderId: string, @Body() { amount = '10', shop }: { amount?: string; shop?: string }) {
    return { payUrl: (await this.payments.shop(shop).createBill({ orderId, amount })).linkPageUrl };
  }
}

@Controller('checkout')
@UseFilters(PaymentExceptionFilter)
class FilteredCheckout extends Checkout {
  @Post(':order/sold-out')
  soldOut(): never {
    throw new HttpException('Sold out', 410);
  }
}

@Controller('by-hand')
@UseFilters(new PaymentExceptionFilter())
class CheckoutWithFilterMadeByHand extends Checkout {}

@Controller('bare')
class BareCheckout extends Checkout {}

@Module({ controllers: [FilteredCheckout, CheckoutWithFilterMadeByHand, BareCheckout] })
class Checkouts {}

describe.each(['express', 'fastify'] as const)('a checkout with PaymentExceptionFilter on %s', (adapter) => {
  let harness: Harness;
  let logged: jest.SpiedFunction<Logger['error']>;
  const pay = async (order: string, body: object = {}) => {
    const response = await postJson(`${harness.host.url}/checkout/${order}`, body);
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, retryAfter: response.headers.get('retry-after'), answer };
  };

  beforeAll(async () => {
    harness = await startHarness({ adapter, imports: [{ module: Checkouts }] });
    logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(async () => {
    await harness.sandbox.setFaults({});
    logged.mockClear();
  });
  afterAll(async () => {
    logged.mockRestore();
    await harness.close();
  });

  test.each([
    ['gives no answer', { resetBefore: 1 }],
    ['is ill', { status500: 1 }],
    ['loses its answer', { loseAnswer: 1 }],
    ['answers with a page', { html: 1 }],
  ])(
    'a checkout is answered 503 while the service %s, and a later one for the order succeeds',
    async (name, requests) => {
      const order = `order-${name.replaceAll(' ', '-')}`;
      await harness.sandbox.setFaults({ requests });
      const refused = await pay(order);
      expect(refused).toMatchObject({ status: 503, retryAfter: '5', answer: { statusCode: 503 } });
      expect(refused.answer['message']).toContain('The order is kept');
      expect(logged).toHaveBeenCalledTimes(1);
      await harness.sandbox.setFaults({});
      expect(await pay(order)).toMatchObject({ status: 201, answer: { payUrl: expect.stringContaining('http') } });
    },
  );

  test('a checkout is answered 503 while the database does not answer, and a later one for the order succeeds', async () => {
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = () => {
      throw new Error('connect ECONNREFUSED');
    };
    const refused = await pay('order-database');
    probe.reached = () => undefined;
    expect(refused).toMatchObject({ status: 503, retryAfter: '5', answer: { code: 'database-error' } });
    expect(await pay('order-database')).toMatchObject({ status: 201 });
  });

  test('a checkout is answered 503 without Retry-After or a reason if the service refuses the token', async () => {
    await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    const { status, retryAfter, answer } = await pay('order-token');
    expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: null });
    expect(answer).toEqual({
      statusCode: 503,
      code: 'unauthenticated',
      message: 'The payment cannot be started at the moment. The order is kept.',
    });
    expect(String(logged.mock.calls[0]?.[0])).toContain('apiToken');
  });

  test.each([
    [404, 'not-found'],
    [409, 'busy'],
    [400, 'refused'],
  ] as const)("an operator's request is answered %i with the reason if it is %s", (status, reason) => {
    const exception = paymentHttpException(new PaymentOperatorActionError('There is no such review.', reason));
    expect([exception.getStatus(), exception.getResponse()]).toEqual([
      status,
      { statusCode: status, code: 'operator-action', message: 'There is no such review.' },
    ]);
  });

  test.each([
    [400, 'invalid-bill-request', { amount: '10.001.2' }],
    [404, 'unknown-shop', { shop: 'nobody' }],
  ])('a checkout is answered %i for %s, without a log line', async (status, code, body) => {
    expect(await pay('order-bad', body)).toMatchObject({ status, answer: { statusCode: status, code } });
    expect(logged).not.toHaveBeenCalled();
  });

  test('a filter created with new answers the same', async () => {
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    const response = await postJson(`${harness.host.url}/by-hand/by-hand`, {});
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.json()).toMatchObject({ statusCode: 503, code: 'unknown-outcome' });
  });

  test('a checkout is answered 409 for another amount and for a paid order', async () => {
    await pay('order-twice');
    expect(await pay('order-twice', { amount: '11' })).toMatchObject({
      status: 409,
      answer: {
        code: 'bill-mismatch',
        message: expect.stringContaining('Retrying will not help') as unknown,
      },
    });
    const [bill] = await harness.host.payments.findBills('order-twice');
    await harness.sandbox.pay(bill!.billId!);
    await harness.settle();
    expect(await pay('order-twice')).toMatchObject({ status: 409, answer: { code: 'order-already-paid' } });
  });

  test('the filter does not touch exceptions of the host', async () => {
    expect(await pay('order/sold-out')).toMatchObject({ status: 410, answer: { message: 'Sold out' } });
  });

  test('a checkout without the filter is answered with a bare 500', async () => {
    await harness.sandbox.setFaults({ requests: { resetBefore: 1 } });
    expect((await postJson(`${harness.host.url}/bare/order-bare`, {})).status).toBe(500);
  });
});

test('a microservice message is answered with the error itself', async () => {
  @Controller()
  class Messages {
    @Inject() private readonly payments!: PaymentAcceptanceService;
    @MessagePattern('checkout')
    @UseFilters(PaymentExceptionFilter)
    pay(@Payload() orderId: string) {
      return this.payments.createBill({ orderId, amount: '-1' });
    }
  }
  @Module({ controllers: [Messages] })
  class MessagesModule {}
  const harness = await startHarness({ imports: [{ module: MessagesModule }] });
  const service = harness.host.app.connectMicroservice({ transport: Transport.TCP, options: { port: 0 } });
  await harness.host.app.startAllMicroservices();
  const { port } = service.unwrap<Server>().address() as AddressInfo;
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
  const answer = firstValueFrom(client.send('checkout', 'A-1').pipe(timeout(5_000)));
  await expect(answer).rejects.toMatchObject({ code: 'invalid-bill-request' });
  await client.close();
  await harness.close();
});
