import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentAnswerNotUnderstoodError, PaymentTooManyPaymentsError } from 'nestjs-payment-acceptance';
import { MAIN_TOKEN } from '../support/harness.js';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

let recorded: RecordedHarness;

describe('client payments', () => {
  beforeAll(async () => {
    recorded = await startRecordedHarness({ timeZone: '+03:00' });
  });
  afterAll(() => recorded.close());

  const list = (id = 'bill-1', shop = 'main') => recorded.harness.host.payments.shop(shop).listPayments(id);
  const answer = (...payments: string[]) =>
    recorded.recorder.answer({ body: `{"data":[${payments.join()}],"success":true}` });

  /** As the specification shows a payment: amounts are JSON numbers. */
  const PAYMENT =
    '{"id":"pay-1","bill_id":"bill-1","status":"SUCCESS","amount":100.00,"amount_received":12345678.90,' +
    '"from_card":"411111******1111","currency_in":"RUB","created_at":"2026-07-01 12:00:00"}';

  describe('4.2 Payments of one bill', () => {
    test('a list of payments is a GET of {base_url}/api/v1/bill/payments?id= with the bearer token and no body', async () => {
      answer();
      expect(await list()).toEqual([]);
      const { method, path, query, headers, body } = recorded.recorder.request;
      expect([method, path, [...query], body.length]).toEqual(['GET', '/api/v1/bill/payments', [['id', 'bill-1']], 0]);
      expect([headers.authorization, headers.accept]).toEqual([`Bearer ${MAIN_TOKEN}`, 'application/json']);
    });

    test('a bill id of any characters is sent as one query parameter', async () => {
      answer();
      await list('a&id=b#/ü +%');
      expect([...recorded.recorder.request.query]).toEqual([['id', 'a&id=b#/ü +%']]);
    });

    test('a list of payments may be in any order (assumed)', async () => {
      answer(PAYMENT.replace('pay-1', 'pay-2'), PAYMENT);
      expect((await list()).map(({ paymentId }) => paymentId)).toEqual(['pay-2', 'pay-1']);
    });

    describe('pagination is not documented: lists of several pages', () => {
      const page = (number: number, paging = '') =>
        `{"success":true,"data":[${PAYMENT.replace('pay-1', `pay-${number}`)}]${paging && `,${paging}`}}`;
      const here = () => `${recorded.recorder.url}/api/v1/bill/payments`;
      const queries = () => recorded.recorder.requests.slice(-3).map(({ query }) => Object.fromEntries(query));

      test.each<[string, () => string, Record<string, string>]>([
        ['meta.next_cursor', () => '"meta":{"next_cursor":"c/2"}', { cursor: 'c/2' }],
        ['next_cursor, a number', () => '"next_cursor":17', { cursor: '17' }],
        ['links.next', () => `"links":{"next":"${here()}?page=2"},"meta":{"last_page":2}`, { page: '2' }],
        ['meta.pagination.links.next', () => `"meta":{"pagination":{"links":{"next":"?page=2"}}}`, { page: '2' }],
        ['links.next, an object', () => `"links":{"next":{"href":"?page=2&limit=1"}}`, { page: '2', limit: '1' }],
        ['next_page_url', () => `"current_page":1,"next_page_url":"/api/v1/bill/payments?page=2"`, { page: '2' }],
        ['an address of another bill', () => `"next":"${here()}?id=foreign&page=2"`, { page: '2' }],
      ])('a list continued by %s is read to its end, each payment once', async (_name, paging, query) => {
        recorded.recorder.answer(
          { body: page(1, paging()) },
          { body: `{"success":true,"data":[${[1, 2].map((n) => PAYMENT.replace('pay-1', `pay-${n}`)).join()}]}` },
        );
        expect((await list()).map(({ paymentId }) => paymentId)).toEqual(['pay-1', 'pay-2']);
        expect(queries().slice(-2)).toEqual([{ id: 'bill-1' }, { id: 'bill-1', ...query }]);
      });

      test.each([
        ['has_more alone', '"has_more":true'],
        ['a number of pages alone', '"meta":{"current_page":"1","last_page":3}'],
        ['a flag of another name', '"pagination":{"hasNextPage":true}'],
        ['a count of another name', '"meta":{"page":1,"per_page":1,"total_count":3}'],
        ['a number of pages, from 0 on', '"page":0,"total_pages":2'],
        ['a number of pages, deeper', '"meta":{"pagination":{"current_page":1,"total_pages":2}}'],
        ['a token', '"next_page_token":"abc"'],
        ['a total beyond the page', '"total":16,"per_page":15'],
        ['a total beyond the size of the page', '"meta":{"page":1,"page_size":20,"total":45}'],
        ['a total beyond the limit', '"total":45,"limit":20,"offset":0'],
        ['a number of pages of another name', '"pages":3,"page":1'],
        ['an address elsewhere', '"links":{"next":"https://other.example/api/v1/bill/payments?page=2"}'],
        ['another address of the service', '"next_page_url":"/api/v1/bill/create?page=2"'],
        ['no address', '"next_page_url":"http://["'],
        ['the same page again', '"next":"?id=bill-1"'],
      ])('a list that announces more pages by %s is not taken as complete', async (_name, paging) => {
        recorded.recorder.answer({ body: page(1, paging) });
        await expect(list()).rejects.toThrow(PaymentTooManyPaymentsError);
        expect(recorded.recorder.requests.map(({ query }) => query.get('id'))).toEqual(['bill-1']);
      });

      test('a list that never ends is given up after 20 pages', async () => {
        const pages = Array.from({ length: 20 }, (_, index) => ({ body: page(index, `"next_cursor":"c${index}"`) }));
        recorded.recorder.answer(pages[0]!, ...pages.slice(1));
        await expect(list()).rejects.toThrow('more than 20 pages');
      });

      test.each([
        '"meta":{"next_cursor":null,"has_more":true,"current_page":2,"last_page":2},"has_more":false',
        '"next_cursor":""',
        '"next_cursor":0',
        '"page":0,"total_pages":1',
        '"total":15,"per_page":15,"has_more":null',
        '"total":"100.05"',
        '"total":"100.05","limit":20',
        '"total":1,"limit":20,"offset":0',
        '"total":1,"per_page":0,"page":1',
        '"total":100.05,"per_page":50,"page":1',
        '"total":1,"page":1,"per_page":0.5',
        '"links":[{"url":null}],"next_page_url":null,"current_page":1,"last_page":1,"total":1',
      ])('a list of a single page is complete: %s', async (paging) => {
        recorded.recorder.answer({ body: page(1, paging) });
        expect(await list()).toHaveLength(1);
      });
    });

    test.each(['true', '"true"'])('a list of payments is understood with success as %s', async (success) => {
      recorded.recorder.answer({ body: `{"success":${success},"data":[]}` });
      expect(await list()).toEqual([]);
    });

    test.each(['null', '{}'])('an empty list of payments may be %s', async (empty) => {
      recorded.recorder.answer({ body: `{"data":${empty},"success":true}` });
      expect(await list()).toEqual([]);
    });

    test.each([
      '{"success":true}',
      '{"success":true,"data":{"first":{}}}',
      '{"success":true,"data":[7]}',
      '{"data":[]}',
      '[]',
      '',
      '<html>',
    ])('the list %s is not understood', async (body) => {
      recorded.recorder.answer({ body });
      await expect(list()).rejects.toThrow(PaymentAnswerNotUnderstoodError);
    });
  });

  describe('2.3 Payment', () => {
    test('every field of a payment is read, and amounts keep both decimals and every digit', async () => {
      answer(PAYMENT);
      expect(await list()).toEqual([
        {
          paymentId: 'pay-1',
          billId: 'bill-1',
          status: 'SUCCESS',
          statusText: 'SUCCESS',
          amount: '100.00',
          amountReceived: '12345678.90',
          commission: null,
          currency: 'RUB',
          fromCard: '411111******1111',
          createdAtText: '2026-07-01 12:00:00',
          createdAt: new Date('2026-07-01T09:00:00Z'),
        },
      ]);
    });

    test.each(['NEW', 'PROCESS', 'SUCCESS', 'FAIL'])('the payment status %s is read', async (status) => {
      answer(PAYMENT.replace('SUCCESS', status));
      expect((await list())[0]!.status).toBe(status);
    });

    test('an undocumented payment status is read as UNKNOWN (assumed)', async () => {
      answer(PAYMENT.replace('SUCCESS', 'OVERPAID'));
      expect((await list())[0]!.status).toBe('UNKNOWN');
    });

    test("created_at is read in the time zone of the shop's option, in summer and winter (assumed)", async () => {
      answer(PAYMENT, PAYMENT.replace('2026-07', '2026-12'));
      expect((await list('bill-1', 'eu')).map(({ createdAt }) => createdAt?.toISOString())).toEqual([
        '2026-07-01T10:00:00.000Z',
        '2026-12-01T11:00:00.000Z',
      ]);
    });

    test('a card that comes unmasked is masked before anything keeps it', async () => {
      answer(PAYMENT.replace('411111******1111', '4111111111111111'));
      expect((await list())[0]!.fromCard).toBe('411111******1111');
    });

    test('unknown fields of a payment are ignored, except a commission (assumed)', async () => {
      answer(PAYMENT.replace('}', ',"commission":1.5,"account_amount":98.5,"account_currency_code":"RUB"}'));
      const [payment] = await list();
      expect(payment!.commission).toBe('1.50');
      expect(payment).not.toHaveProperty('account_amount');
    });
  });

  describe('8 Limits', () => {
    test.each([
      ['99999999.99', '99999999.99'],
      ['0.01', '0.01'],
      ['100000000.00', null],
      ['1.005', null],
      ['1e+06', '1000000.00'],
      ['"100.05"', '100.05'],
      ['null', null],
    ])('8.1 amounts are decimal(10,2): %s is %j', async (sent, read) => {
      answer(PAYMENT.replace('100.00', sent));
      expect((await list())[0]!.amount).toBe(read);
    });

    test.each([
      ['is read to its end', (next: string) => `"meta":{"next_cursor":"${next}"}`, 'PAID', []],
      ['that leads nowhere is a review, and settles nothing', () => '"has_more":true', 'OPEN', ['too-many-payments']],
    ])('4.2 a list of failed attempts that continues %s (assumed)', async (_what, paging, state, reasons) => {
      const orderId = `L-9-${state}`;
      recorded.recorder.answer(createdBill(`bill-${state}`));
      await recorded.harness.host.payments.createBill({ orderId, amount: '100' });
      const payment = PAYMENT.replaceAll('bill-1', `bill-${state}`);
      const failed = Array.from({ length: 15 }, (_each, index) =>
        payment.replace('pay-1', `${state}-${index}`).replace('SUCCESS', 'FAIL'),
      );
      recorded.recorder.answer(
        { body: `{"success":true,"data":[${failed.join()}],${paging('c2')}}` },
        { body: `{"success":true,"data":[${payment.replace('pay-1', `${state}-paid`)}],${paging('')}}` },
      );
      recorded.harness.clock.advance(60_000);
      await recorded.harness.host.confirmer.runOnce();
      const ledger = await recorded.harness.host.ledger();
      expect(ledger.bills.find((bill) => bill.orderId === orderId)).toMatchObject({ state });
      expect(ledger.reviews.filter((review) => review.orderId === orderId).map(({ reason }) => reason)).toEqual(
        reasons,
      );
      const events = ledger.events.filter((event) => event.orderId === orderId).map(({ name }) => name);
      expect(events.filter((name) => name === 'payment.succeeded').length).toBe(state === 'PAID' ? 1 : 0);
      if (state === 'OPEN') expect(events).toEqual(['payment.review']);
    });

    test('8.1 an amount that cannot be read settles nothing, and becomes a review (assumed)', async () => {
      recorded.recorder.answer(createdBill('bill-8'));
      await recorded.harness.host.payments.createBill({ orderId: 'L-8', amount: '100' });
      answer(PAYMENT.replaceAll('bill-1', 'bill-8').replace('100.00', '1.005'));
      recorded.harness.clock.advance(60_000);
      await recorded.harness.host.confirmer.runOnce();
      const ledger = await recorded.harness.host.ledger();
      expect(ledger.reviews.filter(({ orderId }) => orderId === 'L-8')).toMatchObject([
        { reason: 'amount-missing', state: 'OPEN' },
      ]);
      expect(ledger.bills.find(({ orderId }) => orderId === 'L-8')).toMatchObject({ state: 'OPEN' });
    });
  });
});
