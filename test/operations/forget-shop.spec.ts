import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commandsOf, type Commands } from '../support/commands.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';

describe('a shop that was started with the wrong id at first', () => {
  let harness: Harness;
  let commands: Commands;
  beforeAll(async () => {
    harness = await startHarness();
    commands = commandsOf(harness);
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  const startWith = (shopId: string) => {
    const { shops } = moduleOptions(harness.sandboxUrl);
    return harness.start({ options: { shops: { ...shops, main: { ...shops.main!, shopId } } } });
  };
  const forget = (...more: string[]) => commands.command('forget-shop', '--shop', 'main', ...more);

  test('a shop with a corrected id is refused, with the command that lets it be replaced', async () => {
    const refused = startWith('shop-main-2');
    await expect(refused).rejects.toThrow('the tables have a shop "main" with the id "shop-main", not "shop-main-2"');
    await expect(refused).rejects.toThrow('payment-acceptance forget-shop --shop main');
  });

  test('a shop with a corrected id starts after forget-shop, and the old id is then refused', async () => {
    const document = { shop: 'main', dryRun: true, forgotten: true };
    expect(await commands.json('forget-shop', '--shop', 'main', '--dry-run')).toEqual({ code: 0, document });
    await expect(startWith('shop-main-2')).rejects.toThrow('the tables have a shop "main"');
    expect(await forget()).toMatchObject({ code: 0, err: '' });
    await startWith('shop-main-2');
    await expect(startWith('shop-main')).rejects.toThrow('with the id "shop-main-2", not "shop-main"');
    await forget();
    await startWith('shop-main');
  });

  test('forget-shop refuses a shop that has a bill, or may have one', async () => {
    await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    for (const more of [['--dry-run'], []]) {
      const { code, err } = await forget(...more);
      expect([code, err]).toEqual([1, expect.stringContaining('Shop "main" has bills, so its id cannot be removed.')]);
    }
    const becomes = (state: string) =>
      harness.host.dataSource.query(`UPDATE payment_acceptance.bill SET state = '${state}'`);
    await becomes('UNKNOWN');
    expect((await forget()).code).toBe(1);
    await becomes('REJECTED');
    expect((await forget('--dry-run')).code).toBe(0);
  });

  test('forget-shop needs the name of a known shop', async () => {
    const { code, err } = await commands.command('forget-shop');
    expect([code, err]).toEqual([2, expect.stringContaining('--shop NAME')]);
    const unknown = await commands.command('forget-shop', '--shop', 'us');
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('The tables have no shop "us".')]);
  });
});
