import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Module, type DynamicModule } from '@nestjs/common';
import * as swagger from '@nestjs/swagger';
import type { PaymentRoutesOptions } from 'nestjs-payment-acceptance';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { PaymentSandboxModule } from 'nestjs-payment-sandbox';
import { ADAPTERS, type Adapter } from '../support/adapters.js';
import { startHarness, type Harness } from '../support/harness.js';

@Controller('orders')
class OrdersController {
  @Get()
  all(): string[] {
    return [];
  }
}

@Module({})
class OrdersModule {}

let harness: Harness | undefined;

describe('open api', () => {
  afterEach(async () => {
    await harness?.close();
    harness = undefined;
  });

  async function documentOf(routes: PaymentRoutesOptions, adapter: Adapter = 'express', imports: DynamicModule[] = []) {
    harness = await startHarness({ adapter, extras: { routes }, imports });
    return swagger.SwaggerModule.createDocument(harness.host.app, new swagger.DocumentBuilder().build());
  }

  const PATHS = [
    '/redirect/payment/success',
    '/redirect/payment/success/{shop}',
    '/redirect/payment/fail',
    '/redirect/payment/fail/{shop}',
    '/redirect/payment/result/{ticket}',
    '/postback/payment',
    '/postback/payment/{shop}',
  ];

  describe.each(ADAPTERS)('the OpenAPI document of a host on %s', (adapter) => {
    test('shows the callback routes if the module is given @nestjs/swagger', async () => {
      const document = await documentOf({ openApi: swagger }, adapter);
      expect(Object.keys(document.paths)).toEqual(PATHS);
      const postback = document.paths['/postback/payment/{shop}']!.post!;
      expect(postback.tags).toEqual(['Payment callbacks']);
      expect(postback.parameters).toMatchObject([{ name: 'shop', in: 'path', required: true }]);
      expect(document.paths['/postback/payment']!.post!.parameters).toEqual([]);
      expect(postback.requestBody).toMatchObject({
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/PostbackDto' } },
          'application/x-www-form-urlencoded': { schema: { $ref: '#/components/schemas/PostbackDto' } },
        },
      });
      expect(Object.keys(postback.responses)).toEqual(['200', '400', '403', '404', '503']);
      expect(postback.responses).toMatchObject({
        200: { content: { 'text/plain': { schema: { type: 'string', example: 'OK' } } } },
        400: { content: { 'application/json': { schema: { properties: { errors: { type: 'array' } } } } } },
      });
      const redirect = document.paths['/redirect/payment/fail']!.post!;
      expect(redirect.requestBody).toMatchObject({
        content: { 'application/x-www-form-urlencoded': { schema: { $ref: '#/components/schemas/RedirectDto' } } },
      });
      expect(Object.keys(redirect.responses)).toEqual(['200', '303', '400', '403', '404', '503']);
      const result = document.paths['/redirect/payment/result/{ticket}']!.get!;
      expect(result.parameters).toMatchObject([{ name: 'ticket', in: 'path', required: true }]);
    });
  });

  test('has schemas with a description and an example for every field', async () => {
    const { components } = await documentOf({ openApi: swagger });
    const { PostbackDto, RedirectDto } = components!.schemas as Record<
      string,
      { required: string[]; properties: Record<string, { type: string; description?: string; example?: string }> }
    >;
    expect(Object.keys(PostbackDto!.properties).sort()).toEqual([
    'Commission', 'CurrencyIn', 'InvId', 'OutSum', 'SignatureValue', 'Status', 'TrsId', 'custom',
  ]); // prettier-ignore
    expect(PostbackDto!.required.sort()).toEqual(['InvId', 'OutSum', 'Status', 'TrsId']);
    expect(Object.keys(RedirectDto!.properties).sort()).toEqual([
    'CurrencyIn', 'InvId', 'OutSum', 'SignatureValue', 'custom',
  ]); // prettier-ignore
    expect(RedirectDto!.required.sort()).toEqual(['CurrencyIn', 'InvId', 'OutSum']);
    expect(RedirectDto!.properties['CurrencyIn']).toMatchObject({ enum: ['USD', 'RUB', 'EUR'] });
    for (const { type, description, example } of [
      ...Object.values(PostbackDto!.properties),
      ...Object.values(RedirectDto!.properties),
    ]) {
      expect([type, typeof description, typeof example]).toEqual(['string', 'string', 'string']);
    }
  });

  test('omits single routes by the host’s own decorators', async () => {
    const hidden = await documentOf({
      openApi: swagger,
      redirect: { classDecorators: [swagger.ApiExcludeController()] },
    });
    expect(Object.keys(hidden.paths)).toEqual(['/postback/payment', '/postback/payment/{shop}']);
  });

  test.each([{}, { openApi: false }] as const)('has nothing but what is the host’s own with %j', async (routes) => {
    const document = await documentOf(routes, 'express', [
      { module: OrdersModule, controllers: [OrdersController] },
      PaymentConsoleModule.register({ guardedElsewhere: true }),
      PaymentSandboxModule.forRoot(),
    ]);
    expect(Object.keys(document.paths)).toEqual(['/orders']);
    expect(document.components?.schemas).toEqual({});
    expect(document.tags).toEqual([]);
  });
});
