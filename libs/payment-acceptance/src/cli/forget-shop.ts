import { shownText } from '../common/text.js';
import { openForTool, withConnections } from '../database/open-database.js';
import { PaymentOperatorActionError } from '../operations/operator.errors.js';
import { ShopStore } from '../settlement/storage/shop.store.js';
import { UsageError } from './arguments.js';
import type { CommandLine } from './environment-file.js';
import { schemaOf, withDatabase } from './host.js';
import { printJson, type Output } from './output.js';

/** The application is not started: it would refuse, because its shop's id differs from the one in the tables. */
export function forgetShop(invocation: CommandLine, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const { shop, 'dry-run': dryRun = false, config, json } = invocation.values;
  if (shop === undefined) throw new UsageError('Specify a shop: --shop NAME.');
  return withDatabase(invocation, env, async (named) => {
    const schema = await schemaOf(config, env);
    await withConnections(named, async (source) => {
      const store = new ShopStore(await openForTool(source, schema));
      const identities = await store.identities({ name: shop, shopId: null });
      if (identities.length === 0) {
        throw new PaymentOperatorActionError(`The tables have no shop "${shownText(shop)}".`, 'not-found');
      }
      if (dryRun ? !(await store.hasBills(shop)) : await store.forget(shop)) return;
      throw new PaymentOperatorActionError(
        `Shop "${shownText(shop)}" has bills, so its id cannot be removed. If another application uses the same database, give it a ` +
          'schema of its own (option "schema"), or give its shops other names.',
      );
    });
    if (json) printJson(output, { shop, dryRun, forgotten: true });
    else output.out(`The next start ${dryRun ? 'would store' : 'stores'} a new id for shop "${shownText(shop)}".\n`);
    return 0;
  });
}
