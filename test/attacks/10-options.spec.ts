import { describe, expect, test } from '@jest/globals';
import { paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { inspect } from 'node:util';
import { EU_TOKEN, MAIN_TOKEN, moduleOptions, startHarness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { findReachable, held } from './support/reachable.js';

describe('leaks of options', () => {
  const closeLater = closing();

  test('tokens of options given to forRoot are not retained, and the given object is not changed', async () => {
    const { shops } = moduleOptions('http://127.0.0.1:9', {});
    const harness = await startHarness({ options: { shops } });
    closeLater(() => harness.close());
    expect(findReachable(held(harness.host.app), [shops.main!.shopId])).not.toEqual([]);
    expect(findReachable(held(harness.host.app), [MAIN_TOKEN, EU_TOKEN])).toEqual([]);
    expect(Object.getOwnPropertyDescriptor(shops.main, 'apiToken')).toMatchObject({
      value: MAIN_TOKEN,
      writable: true,
    });
  });

  test('options read from the environment do not print their tokens, but return them when read', () => {
    const { shops } = paymentAcceptanceOptionsFromEnv({
      PAYMENT_ACCEPTANCE_API_BASE_URL: 'https://api.pay.example',
      PAYMENT_ACCEPTANCE_API_TOKEN: MAIN_TOKEN,
      PAYMENT_ACCEPTANCE_PREVIOUS_API_TOKENS: EU_TOKEN,
      PAYMENT_ACCEPTANCE_SHOP_ID: '17',
    });
    expect(findReachable(shops, ['https://api.pay.example'])).not.toEqual([]);
    expect(findReachable(shops, [MAIN_TOKEN, EU_TOKEN])).toEqual([]);
    expect(inspect(shops, { depth: 10, showHidden: true }) + JSON.stringify(shops)).not.toMatch(/token-0123/);
    const main = shops.main!;
    expect({ ...main }).toMatchObject({ apiToken: MAIN_TOKEN, previousApiTokens: [EU_TOKEN], shopId: '17' });
    main.apiToken = 'another-token-0123456789';
    expect(main.apiToken).toBe('another-token-0123456789');
  });
});
