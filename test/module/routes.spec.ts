import { afterEach, describe, expect, test } from '@jest/globals';
import {
  Body,
  Controller,
  ForbiddenException,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  Res,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Response } from 'express';
import { PaymentAcceptanceModule, PaymentConfigurationError } from 'nestjs-payment-acceptance';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import type { Observable } from 'rxjs';
import { ADAPTERS } from '../support/adapters.js';
import { EU_TOKEN, moduleOptions, startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { Starting } from '../support/starting.js';

let harness: Harness | undefined;
const starting = new Starting();

describe('routes', () => {
  afterEach(async () => {
    await starting.close('drop');
    await harness?.close();
    harness = undefined;
  });
  const open = async (options: HarnessOptions): Promise<Harness> => (harness = await startHarness(options));
  const billOf = ({ host }: Harness, orderId = 'A-1') => host.payments.createBill({ orderId, amount: '1' });

  /** An allow list of addresses, injected into a guard of one controller only. */
  @Injectable()
  class AllowList {
    readonly allowed = new Set<string>();
  }
  @Injectable()
  class AllowListGuard implements CanActivate {
    constructor(private readonly list: AllowList) {}
    canActivate(context: ExecutionContext): boolean {
      const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
      if (!this.list.allowed.has(headers['x-from'] ?? '')) throw new ForbiddenException('not on the list');
      return true;
    }
  }
  @Injectable()
  class AuditLog {
    readonly seen: string[] = [];
  }
  @Injectable()
  class AuditInterceptor implements NestInterceptor {
    constructor(private readonly log: AuditLog) {}
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      this.log.seen.push(context.getHandler().name);
      return next.handle();
    }
  }
  @Module({ providers: [AllowList, AuditLog], exports: [AllowList, AuditLog] })
  class ProtectionModule {}

  describe.each(ADAPTERS)('on %s', (adapter) => {
    test('each route has its configured path, and the redirect leads to the result page', async () => {
      const routes = {
        path: 'shop',
        redirect: { successPath: 'thanks', failPath: 'cart/sorry', resultPath: 'pay/result' },
        postback: { path: 'hooks/payment' },
      };
      const prepare: HarnessOptions['prepare'] = (app) => void app.setGlobalPrefix('api');
      const { host, settle } = await open({ adapter, extras: { routes }, prepare, providers: [EffectWriter] });
      const base = `${host.url}/api/shop`;
      const { orderId, billId } = await billOf(harness!);
      const eu = await host.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      for (const [path, order, token] of [
        ['thanks', orderId, undefined],
        ['cart/sorry/main', orderId, undefined],
        ['thanks/eu', eu.orderId, EU_TOKEN],
      ] as const) {
        const answer = await postForm(`${base}/${path}`, redirectFields({ InvId: order, OutSum: '1.00' }, token));
        const page = new URL(answer.headers.get('location')!, answer.url);
        expect([answer.status, page.href.startsWith(`${base}/pay/result/`)]).toEqual([303, true]);
        expect(await (await fetch(page)).text()).toContain(order);
      }
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      expect((await postJson(`${base}/hooks/payment`, postback)).status).toBe(200);
      for (const path of ['redirect/payment/success', 'postback/payment', 'redirect/payment/result/x']) {
        expect((await postJson(`${base}/${path}`, postback)).status).toBe(404);
      }
      await settle();
    });

    test("guards and interceptors apply to the controllers, and can inject the host's providers", async () => {
      const { host } = await open({
        adapter,
        extras: {
          routeImports: [ProtectionModule],
          routes: {
            classDecorators: [UseInterceptors(AuditInterceptor)],
            postback: { classDecorators: [UseGuards(AllowListGuard)] },
          },
        },
      });
      const { orderId, billId } = await billOf(harness!);
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      const send = () =>
        fetch(`${host.url}/postback/payment`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-from': 'the service' },
          body: JSON.stringify(postback),
        });
      expect((await send()).status).toBe(403);
      host.app.get(AllowList, { strict: false }).allowed.add('the service');
      const taken = await send();
      expect([taken.status, await taken.text()]).toEqual([200, 'OK']);
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' });
      expect((await postForm(`${host.url}/redirect/payment/success`, redirect)).status).toBe(303);
      expect(host.app.get(AuditLog, { strict: false }).seen).toEqual(['postback', 'success']);
    });

    test('the acknowledgement has the body and content type that the service expects', async () => {
      const callbacks = { replyBody: '{"status":"ok"}', replyContentType: 'application/json' };
      const { host } = await open({ adapter, options: { callbacks } });
      const { orderId, billId } = await billOf(harness!);
      const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      const answer = await postJson(`${host.url}/postback/payment`, fields);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^application\/json/),
      ]);
      expect(await answer.json()).toEqual({ status: 'ok' });
    });
  });

  test('ambiguous paths and an invalid content type fail the start', async () => {
    const routes = { postback: { path: 'redirect/payment/fail' } };
    expect(() => PaymentAcceptanceModule.forRoot({ ...moduleOptions('http://unused'), routes })).toThrow(
      PaymentConfigurationError,
    );
    const options = moduleOptions('http://unused', { callbacks: { replyContentType: 'json\r\nX: y' } });
    await expect(starting.start([PaymentAcceptanceModule.forRoot(options)])).rejects.toThrow(
      'callbacks.replyContentType: must be a media type',
    );
  });

  describe('disabled routes', () => {
    test('a disabled redirect does not affect the postback route', async () => {
      const { host } = await open({ extras: { routes: { redirect: false } } });
      const { orderId, billId } = await billOf(harness!);
      const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      expect((await postJson(`${host.url}/postback/payment`, fields)).status).toBe(200);
      expect((await postForm(`${host.url}/redirect/payment/success`, fields)).status).toBe(404);
      expect((await fetch(`${host.url}/redirect/payment/result/x`)).status).toBe(404);
    });

    /** A host's own controller, for its own addresses, bodies and pages. */
    @Controller('billing')
    class BillingController {
      constructor(private readonly callbacks: PaymentCallbacks) {}

      @Post('notify/:shop')
      async notify(@Param('shop') shop: string, @Body() body: unknown, @Res() response: Response): Promise<void> {
        const answer = await this.callbacks.postback(shop, body);
        response.status(answer.status).json(answer.kind === 'malformed' ? answer.errors : { status: answer.kind });
      }

      @Post('back')
      async back(@Body() body: unknown, @Res() response: Response): Promise<void> {
        const answer = await this.callbacks.redirect('success', undefined, body);
        if (answer.kind === 'result') response.redirect(303, `result/${answer.ticket}`);
        else response.status(answer.status).send(answer.kind);
      }

      @Get('result/:ticket')
      async result(@Param('ticket') ticket: string, @Res() response: Response): Promise<void> {
        const answer = await this.callbacks.result(ticket);
        response.status(answer.status).json(answer.kind === 'shown' ? answer.result : { kind: answer.kind });
      }
    }
    @Module({ controllers: [BillingController] })
    class BillingModule {}

    test('disabled routes can be replaced by a controller of the host', async () => {
      const { host, settle, effects } = await open({
        extras: { routes: { redirect: false, postback: false } },
        imports: [{ module: BillingModule }],
        providers: [EffectWriter],
      });
      const { orderId, billId } = await billOf(harness!);
      await harness!.sandbox.putShop('shop-main', { resultUrl: `${host.url}/billing/notify/main` });
      await harness!.sandbox.pay(billId);
      await settle();
      expect(await effects()).toMatchObject([{ event: 'payment.succeeded', orderId }]);

      const base = `${host.url}/billing`;
      const answers = [
        await postJson(`${base}/notify/us`, { any: 'thing' }),
        await postJson(`${base}/notify/main`, { InvId: orderId }),
        await postForm(`${base}/back`, { ...redirectFields({ InvId: orderId, OutSum: '1.00' }), OutSum: '2.00' }),
        await postForm(`${base}/back`, { InvId: orderId, OutSum: '1.00', CurrencyIn: 'RUB' }),
        await fetch(`${base}/result/${'A'.repeat(51)}`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 400, 403, 200, 404]);
      expect(await answers[1]!.json()).toContainEqual({ field: 'TrsId', errors: expect.any(Array) as unknown });
      const returned = await postForm(`${base}/back`, redirectFields({ InvId: orderId, OutSum: '1.00' }));
      const shown = await fetch(new URL(returned.headers.get('location')!, returned.url));
      expect(await shown.json()).toEqual({
      shop: 'main', orderId, result: 'paid', amount: '1.00', currency: 'RUB',
    }); // prettier-ignore
    });

    test('PaymentCallbacks return status 503 without throwing if the database does not answer', async () => {
      const { host } = await open({ extras: { routes: { redirect: false, postback: false } } });
      const { orderId, billId } = await billOf(harness!);
      const callbacks = host.app.get(PaymentCallbacks);
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' });
      const first = await callbacks.redirect('success', 'main', redirect);
      await host.dataSource.query('ALTER SCHEMA payment_acceptance RENAME TO gone');
      const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      expect(await callbacks.postback('main', fields)).toEqual({ kind: 'not-stored', status: 503 });
      expect(await callbacks.redirect('success', 'main', redirect)).toEqual({ kind: 'not-stored', status: 503 });
      expect(first.kind === 'result' && (await callbacks.result(first.ticket))).toEqual({
        kind: 'not-stored',
        status: 503,
      });
    });
  });
});
