import { parseArgs, type ParseArgsConfig } from 'node:util';
import { PaymentAcceptanceError } from '../common/errors.js';

export const HELP = `Usage: payment-acceptance <command> [options]

  init                     prints the packages, lines and variables that an application needs to take payments; reads
                           its package.json and the name of its lockfile in the current folder, changes nothing
  migrate                  brings the module's tables up to date
      --dry-run            only lists the pending migrations
  forget-shop              allows a shop's id at the service to be changed while the shop has no bill: for when the
                           first start had a wrong shopId, and the correct one is now refused
      -s, --shop NAME      which shop
      --dry-run            only reports whether it would
  status                   shows health and backlog; exit code 1 unless healthy
  check BILL               asks the service about one bill now and settles the answer
                           BILL is the service's bill_id, or our intent id; there is no dry run:
                           use reconcile to ask without settling
      -s, --shop NAME      the bill's shop; default: the default shop
  replay                   immediately retries dead letters, and deliveries that found no order: those that match the
                           filters, or --all
      --delivery ID  --consumer NAME  --event NAME  --order ID  --shop NAME
      --operator NAME      who is doing this, for the record; default: the system user's name
      --dry-run            only reports how many
  deliver                  delivers past events to a consumer that did not exist when they were settled
      --consumer NAME  --event NAME  --order ID  --shop NAME
      --from TIME  --to TIME   settled from (inclusive), to (exclusive), such as 2026-11-21T00:00:00Z
      --operator NAME      who is doing this, for the record; default: the system user's name
      --dry-run            only reports how many
  retire-consumer          after a release has removed or renamed a consumer or one of its handlers: removes the
                           deliveries for what no instance has hosted for an hour
      --consumer NAME      which consumer
      --operator NAME      who is doing this, for the record; default: the system user's name
  reconcile --day DAY      compares a day's payments at the service with the ledger, as CSV; DAY such as 2026-11-21,
                           by the service's wall clock; exit code 1 if they differ, or if
                           one of several shops could not be reconciled
      -s, --shop NAME      only this shop; default: every shop; with --against: the default shop
      --followed           also bills that ended on an earlier day and are still being checked
      --against FILE       instead of --day: a merchant account statement for one shop, as CSV with the
                           columns payment_id,bill_id,status,amount,currency,created_at
  doctor                   checks whether the service behaves as expected; creates nothing there; needs no database;
                           exit code 1 if something differs
      -s, --shop NAME      asks as this shop; default: as each shop in turn
  import FILE              imports open bills of an older integration: a JSON array, or one JSON object per line
      -s, --shop NAME      the shop of bills that name none; default: the default shop; for a log: only this shop
      --from-log           the file is an application log, whose lines of created bills are imported
      --operator NAME      who is doing this, for the record; default: the system user's name
      --dry-run            only reports what would happen
  erase --order ID         removes the personal data recorded about an order; ids, amounts and states stay
      -s, --shop NAME      the order's shop; default: the default shop
      --operator NAME      who is doing this, for the record; default: the system user's name
  recover --since TIME     after a restore, or a failover that lost commits: schedules new checks of known bills, and
                           searches for bills that the tables have lost; TIME as in 2026-11-21T00:00:00Z
      -s, --shop NAME      only this shop; default: every shop
      --out FILE           writes the bills that are not known here to a new file, in the format of import
      --operator NAME      who is doing this, for the record; default: the system user's name
      --dry-run            only reports what would happen; writes no file

Options for all commands; init takes only --json:
  -d, --data-source FILE   module that exports the TypeORM DataSource, as for TypeORM's own commands
                           default: PostgreSQL, or MariaDB (mariadb://…), at DATABASE_URL
                           must be compiled, like the --config module
  -c, --config FILE        module that exports the options of PaymentAcceptanceModule, or a function that returns them
                           default: the environment, PAYMENT_ACCEPTANCE_*
      --env-file FILE      sets variables missing from the environment; can be repeated: the first wins
                           default: .env in the working folder, if there is one
      --json               one JSON document instead of text, also on failure:
                           {"error":{"code":…,"message":…}}
  -h, --help               shows this help

Exit codes: 0 success, 1 failure or findings, 2 invalid command line or configuration.
`;

/** The command line, or a file that it names, is invalid. */
export class UsageError extends PaymentAcceptanceError {
  readonly code = 'usage';
}

const SEE_HELP = 'See npx payment-acceptance --help.';

const OPTIONS = {
  'data-source': { type: 'string', short: 'd' },
  config: { type: 'string', short: 'c' },
  shop: { type: 'string', short: 's' },
  operator: { type: 'string' },
  'env-file': { type: 'string', multiple: true },
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
  'from-log': { type: 'boolean' },
  out: { type: 'string' },
  'dry-run': { type: 'boolean' },
} satisfies ParseArgsConfig['options'];

/** `init` takes only `--json`. */
const COMMON_OPTIONS = ['data-source', 'config', 'env-file', 'json'];

const COMMANDS = {
  init: { options: [], operand: undefined },
  migrate: { options: ['dry-run'], operand: undefined },
  'forget-shop': { options: ['shop', 'dry-run'], operand: undefined },
  status: { options: [], operand: undefined },
  check: { options: ['shop'], operand: 'BILL' },
  replay: {
    options: ['shop', 'operator', 'delivery', 'consumer', 'event', 'order', 'all', 'dry-run'],
    operand: undefined,
  },
  deliver: {
    options: ['shop', 'operator', 'consumer', 'event', 'order', 'from', 'to', 'dry-run'],
    operand: undefined,
  },
  'retire-consumer': { options: ['consumer', 'operator'], operand: undefined },
  reconcile: { options: ['shop', 'day', 'followed', 'against'], operand: undefined },
  doctor: { options: ['shop'], operand: undefined },
  import: { options: ['shop', 'from-log', 'operator', 'dry-run'], operand: 'FILE' },
  erase: { options: ['order', 'shop', 'operator'], operand: undefined },
  recover: { options: ['since', 'shop', 'out', 'operator', 'dry-run'], operand: undefined },
} as const satisfies Record<string, { options: readonly string[]; operand: string | undefined }>;

export type CommandName = keyof typeof COMMANDS;

export interface Arguments {
  readonly command: CommandName;
  /** Empty if the command takes no operand. */
  readonly operand: string;
  readonly values: Readonly<ReturnType<typeof parse>['values']>;
}

/**
 * Returns `undefined` if the command line asks for help.
 * @throws UsageError
 */
export function readArguments(args: readonly string[]): Arguments | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, operand = '', ...extraOperands] = positionals;
  if (command === undefined) throw new UsageError(`Missing command. ${SEE_HELP}`);
  if (!isCommand(command)) throw new UsageError(`Unknown command "${command}". ${SEE_HELP}`);
  const takes = COMMANDS[command];
  const common = command === 'init' ? ['json'] : COMMON_OPTIONS;
  const unknownOption = Object.keys(values).find((name) => ![...common, ...takes.options].includes(name));
  if (unknownOption !== undefined) throw new UsageError(`${command} has no option --${unknownOption}.`);
  if (takes.operand !== undefined && operand === '') throw new UsageError(`${command} needs a ${takes.operand}.`);
  const surplus = takes.operand === undefined ? positionals[1] : extraOperands[0];
  if (surplus !== undefined) throw new UsageError(`Unexpected argument for ${command}: "${surplus}".`);
  return { command, operand, values };
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

function parse(args: readonly string[]) {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, tokens: true });
    const options: NonNullable<ParseArgsConfig['options']> = OPTIONS;
    const names = parsed.tokens.flatMap((token) => (token.kind === 'option' ? token.name : []));
    const repeated = names.find((name, index) => !options[name]?.multiple && names.indexOf(name) < index);
    if (repeated !== undefined) throw new Error(`--${repeated} was given more than once.`);
    return parsed;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
