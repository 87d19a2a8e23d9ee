import { parseArgs, type ParseArgsConfig } from 'node:util';

export const HELP = `Usage: payment-acceptance <command> [options]

  migrate                  brings the module's tables up to date
  status                   how things stand; exit code 1 unless all is well
  check BILL               asks the service about one bill now and settles the answer
                           BILL is the service's bill_id, or the id of our bill
      -s, --shop NAME      one of this shop; default: of the default shop
  replay                   sends dead letters again: those that fit, or --all
      --delivery ID  --consumer NAME  --event NAME  --order ID  --shop NAME
      --operator NAME      who does it, for the record; default: the user's name
  deliver                  gives a consumer events that were settled while it was not there
      --consumer NAME  --event NAME  --order ID  --shop NAME
      --from TIME  --to TIME   settled at or after, and before, such as 2026-11-21T00:00:00Z
      --operator NAME      who does it, for the record; default: the user's name
      --dry-run            only says how many
  reconcile --day DAY      a day's payments, service against ledger, as CSV; DAY is as in 2026-11-21,
                           on the service's wall clock; exit code 1 on a difference
      -s, --shop NAME      those of this shop; default: of every shop, of a statement: of the default shop
      --followed           also bills that ended on an earlier day and are still followed
      --against FILE       in place of --day: a statement of the merchant's account, CSV or JSON, of one shop
      --column NAME=TITLE  what a column is called there: payment_id, status, amount, created_at, bill_id,
                           order_id, currency; default: as in the service's specification
      --status TEXT=STATUS what stands there for NEW, PROCESS, SUCCESS or FAIL; STATUS alone: of every row
  doctor                   looks whether the service behaves as expected; makes nothing there;
                           exit code 1 where it does not
      -s, --shop NAME      asks as this shop; default: as each in turn
  import FILE              takes over open bills of an older integration: JSON, an array or one object a line
      -s, --shop NAME      the shop of bills that name none; default: the default shop
      --hold               keeps the events of these bills back until release
      --operator NAME      who does it, for the record; default: the user's name
      --dry-run            only says what would happen
  release                  the orders are there again: lets the events of held bills go, and has deliveries tried
                           that found no order
      --order ID  --shop NAME
      --operator NAME      who does it, for the record; default: the user's name
  recover --since TIME     after a restore, or a failover that lost commits: has known bills checked again, and
                           looks for bills that the tables have lost; TIME is as in 2026-11-21T00:00:00Z
      -s, --shop NAME      of this shop; default: of every shop
      --from-log FILE      a log of the application, in which creations are found; may be given several times
      --out FILE           writes the bills that are not known here, as import takes them, to a new file
      --operator NAME      who does it, for the record; default: the user's name
      --dry-run            only says what would happen; writes no file

Options of every command:
  -d, --data-source FILE   module that exports the TypeORM DataSource, as TypeORM's own commands take it
                           default: PostgreSQL, or MariaDB (mariadb://…), at DATABASE_URL
  -c, --config FILE        module that exports the options of PaymentAcceptanceModule, or a function that gives them
                           default: the environment, PAYMENT_ACCEPTANCE_*
      --json               one JSON document instead of text
  -h, --help               shows this

Exit codes: 0 done, 1 failed or something was found, 2 the command line or the configuration is wrong.
`;

/** The command line, or what it names, is wrong. */
export class UsageError extends Error {}

const OPTIONS = {
  'data-source': { type: 'string', short: 'd' },
  config: { type: 'string', short: 'c' },
  shop: { type: 'string', short: 's' },
  operator: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  delivery: { type: 'string' },
  consumer: { type: 'string' },
  event: { type: 'string' },
  order: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  all: { type: 'boolean' },
  day: { type: 'string' },
  followed: { type: 'boolean' },
  against: { type: 'string' },
  since: { type: 'string' },
  'from-log': { type: 'string', multiple: true },
  out: { type: 'string' },
  hold: { type: 'boolean' },
  column: { type: 'string', multiple: true },
  status: { type: 'string', multiple: true },
  'dry-run': { type: 'boolean' },
} satisfies ParseArgsConfig['options'];

const COMMON = ['data-source', 'config', 'json'];

/** What each command takes: its own options, and the name of its one operand. */
const COMMANDS = {
  migrate: { options: [], operand: undefined },
  status: { options: [], operand: undefined },
  check: { options: ['shop'], operand: 'BILL' },
  replay: { options: ['shop', 'operator', 'delivery', 'consumer', 'event', 'order', 'all'], operand: undefined },
  deliver: {
    options: ['shop', 'operator', 'consumer', 'event', 'order', 'from', 'to', 'dry-run'],
    operand: undefined,
  },
  reconcile: { options: ['shop', 'day', 'followed', 'against', 'column', 'status'], operand: undefined },
  doctor: { options: ['shop'], operand: undefined },
  import: { options: ['shop', 'hold', 'operator', 'dry-run'], operand: 'FILE' },
  release: { options: ['shop', 'order', 'operator'], operand: undefined },
  recover: { options: ['since', 'shop', 'from-log', 'out', 'operator', 'dry-run'], operand: undefined },
} as const satisfies Record<string, { options: readonly string[]; operand: string | undefined }>;

export type CommandName = keyof typeof COMMANDS;

export interface Arguments {
  readonly command: CommandName;
  /** Empty where the command has none. */
  readonly operand: string;
  readonly values: Readonly<ReturnType<typeof parse>['values']>;
}

/**
 * Reads the command line; `undefined` where help is asked for.
 * @throws UsageError
 */
export function readArguments(args: readonly string[]): Arguments | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, operand = '', ...more] = positionals;
  if (command === undefined) throw new UsageError('Name a command.');
  if (!isCommand(command)) throw new UsageError(`There is no command "${command}".`);
  const takes = COMMANDS[command];
  const foreign = Object.keys(values).find((name) => ![...COMMON, ...takes.options].includes(name));
  if (foreign !== undefined) throw new UsageError(`${command} takes no --${foreign}.`);
  if (takes.operand !== undefined && operand === '') throw new UsageError(`${command} needs a ${takes.operand}.`);
  const surplus = takes.operand === undefined ? positionals[1] : more[0];
  if (surplus !== undefined) throw new UsageError(`${command} does not take "${surplus}".`);
  return { command, operand, values };
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
