import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import * as swagger from '@nestjs/swagger';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { PaymentSandboxModule } from 'nestjs-payment-sandbox';
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

  test("the OpenAPI document of a host contains only the host's own routes", async () => {
    harness = await startHarness({
      imports: [
        { module: OrdersModule, controllers: [OrdersController] },
        PaymentConsoleModule.register({ guardedElsewhere: true }),
        PaymentSandboxModule.forRoot(),
      ],
    });
    const document = swagger.SwaggerModule.createDocument(harness.host.app, new swagger.DocumentBuilder().build());
    expect(Object.keys(document.paths)).toEqual(['/orders']);
    expect(document.components?.schemas).toEqual({});
    expect(document.tags).toEqual([]);
  });
});
