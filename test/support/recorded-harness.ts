import type { PaymentShopOptions } from 'nestjs-payment-acceptance';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness } from './harness.js';
import type { TestedOptions } from './options.js';
import { Recorder } from './recorder.js';

/** A host whose service is a recorder: for tests of what goes over the wire, and of how answers are handled. */
export interface RecordedHarness {
  readonly harness: Harness;
  readonly recorder: Recorder;
  close(): Promise<void>;
}

export async function startRecordedHarness(
  shop: Partial<PaymentShopOptions> = {},
  http: TestedOptions['http'] = {},
  options: TestedOptions = {},
): Promise<RecordedHarness> {
  const recorder = await new Recorder().open();
  const apiBaseUrl = recorder.url;
  const harness = await startHarness({
    options: {
      shops: {
        main: { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl, ...shop },
        eu: {
          shopId: 'shop-eu',
          apiToken: EU_TOKEN,
          apiBaseUrl: `${apiBaseUrl}/eu/`,
          currency: 'EUR',
          timeZone: 'Europe/Berlin',
        },
      },
      http: { attempts: 2, retryBaseMs: 1, retryCapMs: 1, ...http },
      ...options,
    },
  });
  return {
    harness,
    recorder,
    async close() {
      await harness.close();
      await recorder.close();
    },
  };
}

/** An answer to bill creation as section 2.2 shows it. */
export const createdBill = (billId: string, more: object = {}) => ({
  body: JSON.stringify({
    success: 'true',
    link_url: `https://pay.example/link/${billId}`,
    link_page_url: `https://pay.example/transfer/${billId}`,
    bill_id: billId,
    ...more,
  }),
});

/** The same, with one bill: `bill-1` of `order-1`, over 10. */
export async function startWithOneBill(
  http: TestedOptions['http'] = {},
  options: TestedOptions = {},
): Promise<RecordedHarness> {
  const recorded = await startRecordedHarness({}, http, options);
  recorded.recorder.answer(createdBill('bill-1'));
  await recorded.harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
  return recorded;
}
