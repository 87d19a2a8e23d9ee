import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module, Scope, type DynamicModule } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import type { TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  getPaymentShopToken,
  InjectPaymentShop,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  paymentAcceptanceConfig,
  PaymentConfigurationError,
  PaymentShop,
  PaymentUnknownShopError,
  type PaymentAcceptanceOptions,
  type PaymentShopResolver,
} from 'nestjs-payment-acceptance';
import { PaymentMicroservicesModule } from 'nestjs-payment-acceptance/microservices';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { moduleOptions } from '../support/harness.js';
import { Starting } from '../support/starting.js';

const SERVICE = 'http://127.0.0.1:1';
const starting = new Starting();
const start = (...imports: (DynamicModule | Promise<DynamicModule>)[]) => starting.start(imports);

describe('registration', () => {
  afterEach(() => starting.close('keep'));
  afterAll(() => starting.close('drop'));

  const namesIn = (module: TestingModule) => {
    const service = module.get(PaymentAcceptanceService, { strict: false });
    return [service.shop().name, service.shop('eu').name];
  };

  @Injectable()
  class OptionsFactory {
    createPaymentAcceptanceOptions(): PaymentAcceptanceOptions {
      return moduleOptions(SERVICE);
    }
  }

  @Module({ providers: [OptionsFactory], exports: [OptionsFactory] })
  class OptionsModule {}

  test('importing the class itself is refused with an explanation, alone and beside forRoot', async () => {
    const bare = { module: PaymentAcceptanceModule };
    const sentence = 'Import PaymentAcceptanceModule.forRoot()';
    await expect(start(bare)).rejects.toThrow(sentence);
    await expect(start(PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE)), bare)).rejects.toThrow(sentence);
  });

  describe('ways of registration', () => {
    const address = { address: SERVICE };
    const addressConfig = registerAs('address', () => address);
    test.each<[string, () => DynamicModule]>([
      ['forRoot', () => PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE))],
      [
        'forRootAsync with useFactory',
        () => PaymentAcceptanceModule.forRootAsync({ useFactory: () => moduleOptions(SERVICE) }),
      ],
      [
        'forRootAsync with useFactory that injects and waits',
        () =>
          PaymentAcceptanceModule.forRootAsync({
            imports: [ConfigModule.forFeature(addressConfig)],
            inject: [addressConfig.KEY],
            useFactory: (config: typeof address) => Promise.resolve(moduleOptions(config.address)),
          }),
      ],
      ['forRootAsync with useClass', () => PaymentAcceptanceModule.forRootAsync({ useClass: OptionsFactory })],
      [
        'forRootAsync with useExisting',
        () => PaymentAcceptanceModule.forRootAsync({ imports: [OptionsModule], useExisting: OptionsFactory }),
      ],
    ])('the module can be registered by %s', async (_name, register) => {
      expect(namesIn(await start(register()))).toEqual(['main', 'eu']);
    });

    test.each([
      ['forRoot', () => PaymentAcceptanceModule.forRoot({ shops: {} })],
      ['forRootAsync', () => PaymentAcceptanceModule.forRootAsync({ useFactory: () => ({ shops: {} }) })],
    ])('invalid options fail the start of %s', async (_name, register) => {
      await expect(start(register())).rejects.toThrow(PaymentConfigurationError);
    });

    describe('options that depend on a request', () => {
      @Injectable({ scope: Scope.REQUEST })
      class TenantShops implements PaymentShopResolver {
        find = () => Promise.resolve(undefined);
        list = () => Promise.resolve([]);
      }
      @Module({ providers: [TenantShops], exports: [TenantShops] })
      class TenantsModule {}
      const resolved = () =>
        PaymentAcceptanceModule.forRootAsync({
          imports: [TenantsModule],
          inject: [TenantShops],
          useFactory: (shopResolver: TenantShops) => ({ ...moduleOptions(SERVICE), shopResolver }),
        });
      const broker = () =>
        PaymentMicroservicesModule.registerAsync({
          imports: [TenantsModule],
          inject: [TenantShops],
          useFactory: () => ({ client: { emit: () => undefined as never, connect: () => Promise.resolve() } }),
        });
      test.each([
        ['PaymentAcceptanceModule', () => [resolved()]],
        ['PaymentMicroservicesModule', () => [PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE)), broker()]],
      ])('options that depend on a request fail the start of %s', async (name, modules) => {
        const failing = start(...modules());
        await expect(failing).rejects.toThrow(PaymentConfigurationError);
        await expect(failing).rejects.toThrow(
          `The options of ${name} depend on a request-scoped or durable provider (TenantShops)`,
        );
      });
    });

    describe('registering twice', () => {
      const one = () => PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE));
      const other = () => PaymentAcceptanceModule.forRootAsync({ useFactory: () => moduleOptions(SERVICE) });
      const nested = (inner: DynamicModule): DynamicModule => {
        @Module({ imports: [inner] })
        class FeatureModule {}
        return { module: FeatureModule };
      };
      test.each([
        ['forRoot and forRoot', () => [one(), one()]],
        ['forRoot and forRootAsync', () => [one(), other()]],
        ['forRootAsync and forRootAsync', () => [other(), other()]],
        ['one in a nested module', () => [one(), nested(nested(other()))]],
        ['both in nested modules', () => [nested(one()), nested(nested(one()))]],
      ])('registering twice fails the start: %s', async (_name, modules) => {
        const failing = start(...modules());
        await expect(failing).rejects.toThrow(PaymentConfigurationError);
        await expect(failing).rejects.toThrow(
          'is registered 2 times in this application. Call forRoot or forRootAsync once, with all shops in the option `shops`',
        );
      });

      test("registering twice fails the start even with Nest's deep-hash module ids", async () => {
        const dataSource = await starting.dataSource();
        const useFactory = () => ({ type: 'postgres' }) as const;
        const database = TypeOrmModule.forRootAsync({
          useFactory,
          dataSourceFactory: () => Promise.resolve(dataSource),
        });
        @Module({ imports: [database, one(), one()] })
        class AppModule {}
        const options = { logger: false, abortOnError: false, moduleIdGeneratorAlgorithm: 'deep-hash' } as const;
        await expect(NestFactory.createApplicationContext(AppModule, options)).rejects.toThrow('is registered 2 times');
      });

      test('a registration may be imported by several modules, and each application has its own', async () => {
        const shared = one();
        const first = await start(shared, nested(shared));
        const second = await start(other());
        expect([namesIn(first), namesIn(second)]).toEqual(Array(2).fill(['main', 'eu']));
      });
    });

    test('extras are accepted beside the options by both methods', async () => {
      const extras = { routes: { path: 'pay' }, role: 'callbacks', dataSource: 'default' } as const;
      expect(
        namesIn(await start(PaymentAcceptanceModule.forRoot({ ...moduleOptions(SERVICE), ...extras }))),
      ).toHaveLength(2);
      const late = PaymentAcceptanceModule.forRootAsync({ ...extras, useFactory: () => moduleOptions(SERVICE) });
      expect(namesIn(await start(late))).toHaveLength(2);
    });
  });

  describe('forFeature', () => {
    const root = () => PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE));

    test('forFeature makes one or several shops injectable by name', async () => {
      @Injectable()
      class Checkout {
        constructor(
          @InjectPaymentShop('main') readonly main: PaymentShop,
          @InjectPaymentShop('eu') readonly eu: PaymentShop,
        ) {}
      }
      @Module({ imports: [PaymentAcceptanceModule.forFeature('main', 'eu')], providers: [Checkout] })
      class CheckoutModule {}
      const { main, eu } = (await start(root(), { module: CheckoutModule })).get(Checkout, { strict: false });
      expect([main.name, main.currency, eu.name, eu.currency]).toEqual(['main', 'RUB', 'eu', 'EUR']);
      expect(main).toBeInstanceOf(PaymentShop);
    });

    test('forFeature with an unknown shop fails the start, and names the configured shops', async () => {
      const failing = start(root(), PaymentAcceptanceModule.forFeature('us'));
      await expect(failing).rejects.toThrow(PaymentUnknownShopError);
      await expect(failing).rejects.toThrow('There is no shop "us". The configured shops are: main, eu.');
    });

    test('forFeature has one token per shop, the same in every loaded build', () => {
      expect(getPaymentShopToken('eu')).toBe(Symbol.for('nestjs-payment-acceptance/shop/eu'));
      expect(getPaymentShopToken('eu')).not.toBe(getPaymentShopToken('main'));
    });
  });

  describe('the services', () => {
    test('the services are injectable by class, and by a token that all builds share', async () => {
      const module = await start(PaymentAcceptanceModule.forRoot(moduleOptions(SERVICE)));
      for (const service of [PaymentAcceptanceService, PaymentOperations]) {
        const token = Symbol.for(`nestjs-payment-acceptance/${service.name}`);
        expect(module.get<unknown>(token, { strict: false })).toBe(module.get<unknown>(service, { strict: false }));
      }
    });

    test('the default shop is main, or the one in defaultShop', async () => {
      const options = { ...moduleOptions(SERVICE), defaultShop: 'eu' };
      const service = (await start(PaymentAcceptanceModule.forRoot(options))).get(PaymentAcceptanceService, {
        strict: false,
      });
      expect([service.shop().name, service.shop('main').name]).toEqual(['eu', 'main']);
      expect(() => service.shop('us')).toThrow(PaymentUnknownShopError);
      expect(() => service.shop('__proto__')).toThrow(PaymentUnknownShopError);
    });
  });

  describe('the configuration of @nestjs/config', () => {
    const before = { ...process.env };
    afterEach(() => {
      process.env = { ...before };
    });
    const P = 'PAYMENT_ACCEPTANCE_';

    test('@nestjs/config configures one shop', async () => {
      Object.assign(process.env, {
        [`${P}API_BASE_URL`]: SERVICE,
        [`${P}API_TOKEN`]: 'one-token-0123456789',
        [`${P}SHOP_ID`]: 'shop-main',
      });
      const module = await start(
        ConfigModule.forRoot({ ignoreEnvFile: true, load: [paymentAcceptanceConfig] }),
        PaymentAcceptanceModule.forRootAsync({
          imports: [ConfigModule.forFeature(paymentAcceptanceConfig)],
          inject: [paymentAcceptanceConfig.KEY],
          useFactory: (options: PaymentAcceptanceOptions) => ({ ...options, autoStart: false }),
        }),
      );
      expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
    });

    test('@nestjs/config configures several shops by asProvider()', async () => {
      Object.assign(process.env, {
        [`${P}SHOPS`]: 'main,eu',
        [`${P}API_BASE_URL`]: SERVICE,
        [`${P}MAIN_API_TOKEN`]: 'main-token-0123456789',
        [`${P}MAIN_SHOP_ID`]: 'shop-main',
        [`${P}EU_API_TOKEN`]: 'eu-token-0123456789',
        [`${P}EU_SHOP_ID`]: 'shop-eu',
        [`${P}EU_CURRENCY`]: 'EUR',
      });
      const module = await start(PaymentAcceptanceModule.forRootAsync(paymentAcceptanceConfig.asProvider()));
      const service = module.get(PaymentAcceptanceService, { strict: false });
      expect([service.shop().name, service.shop('eu').currency]).toEqual(['main', 'EUR']);
    });

    test('@nestjs/config with a missing variable fails the start, and names the variable', async () => {
      const failing = start(PaymentAcceptanceModule.forRootAsync(paymentAcceptanceConfig.asProvider()));
      await expect(failing).rejects.toThrow('PAYMENT_ACCEPTANCE_API_TOKEN (shop "main"): is not set.');
    });
  });
});
