import { lacksPrivilege } from '../database/query-errors.js';
import { QueryFailedError } from '../database/query-failed.error.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { describeError, errorType, PaymentAcceptanceError } from '../common/errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { TimeoutError } from '../common/timeout.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from '../config/shop.errors.js';
import { PaymentActionInterruptedError, PaymentOperatorActionError } from '../operations/operator.errors.js';
import { PaymentJudgeError } from '../settlement/judge.error.js';
import {
  PaymentPoolExhaustedError,
  PaymentReadOnlyDatabaseError,
  PaymentSchemaBehindError,
  PaymentStatementTimeoutError,
  PaymentUnsupportedDataSourceError,
} from '../database/database.errors.js';
import { UsageError } from './arguments.js';
import type { Given } from './environment-file.js';

/** How a command failed, as both text and `--json` say it. */
export interface Failure {
  /** Stable name: that of the module's error, else `database-error`, `timeout` or `unexpected`. */
  readonly code: string;
  readonly message: string;
  /** The command to run next, or what to do before. One line. */
  readonly next: string;
  /** 2 if the command line or the configuration is wrong, otherwise 1. */
  readonly exitCode: 1 | 2;
}

const PROGRAM = 'npx payment-acceptance';

/** What a command was given. */
export interface Situation {
  /** The command line as it was typed. */
  readonly args: readonly string[];
  /** `undefined` if the command line is wrong. */
  readonly given: Given | undefined;
}

/** The data source cannot connect: no server, or one that refuses. */
export class DatabaseUnreachableError extends PaymentAcceptanceError {
  readonly code = 'database-unreachable';

  constructor(reason: unknown) {
    super(`The database cannot be reached: ${reasonText(reason)}`);
  }
}

export function failureOf(error: unknown, situation: Situation): Failure {
  const step = STEPS.find(({ type }) => error instanceof type);
  return {
    code: error instanceof PaymentAcceptanceError ? error.code : (step?.code ?? 'unexpected'),
    message: error instanceof PaymentAcceptanceError ? error.message : reasonText(error),
    next: step ? step.next(error, situation) : command('doctor', situation),
    exitCode: WRONG.some((type) => error instanceof type) ? 2 : 1,
  };
}

type ErrorType<E = unknown> = abstract new (...args: never[]) => E;

const WRONG: readonly ErrorType[] = [
  UsageError,
  PaymentConfigurationError,
  PaymentUnknownShopError,
  PaymentSchemaBehindError,
  PaymentUnsupportedDataSourceError,
];

interface Step {
  readonly type: ErrorType;
  readonly next: (error: unknown, situation: Situation) => string;
  /** Code of an error that is not the module's own. */
  readonly code?: string;
}

function step<E>(type: ErrorType<E>, next: (error: E, situation: Situation) => string, code?: string): Step {
  return { type, next: next as Step['next'], ...(code !== undefined && { code }) };
}

/** What to do next after each error that can end a command; the first that fits. */
const STEPS: readonly Step[] = [
  step(UsageError, ({ next }) => next ?? `${PROGRAM} --help`),
  step(PaymentConfigurationError, (_error, said) => `Correct it in ${sourceOf(said)}, then: ${again(said)}`),
  step(
    PaymentUnknownShopError,
    (_error, said) => `Specify another shop, or add this one in ${sourceOf(said)}, then: ${again(said)}`,
  ),
  step(
    PaymentInvalidShopError,
    ({ shop }, said) => `Correct the shop's settings, then: ${command('doctor', said, ['--shop', shop])}`,
  ),
  step(PaymentShopResolverError, (_error, said) => again(said)),
  step(PaymentSchemaBehindError, (_error, said) => command('migrate', said)),
  step(
    PaymentUnsupportedDataSourceError,
    (_error, said) =>
      `Specify the application's PostgreSQL or MariaDB with DATABASE_URL or --data-source FILE: ${again(said)}`,
  ),
  step(
    DatabaseUnreachableError,
    (_error, said) => `Start the database, or correct ${addressOf(said)}, then: ${again(said)}`,
  ),
  step(PaymentOperatorActionError, nextOfAction),
  step(PaymentActionInterruptedError, (_error, said) => again(said)),
  step(PaymentServiceError, (_error, said) => command('doctor', said, shopOf(said))),
  step(PaymentJudgeError, (_error, said) => `Correct the option judge, then: ${again(said)}`),
  step(PaymentReadOnlyDatabaseError, (_error, said) => `Correct ${addressOf(said)}, then: ${again(said)}`),
  step(PaymentStatementTimeoutError, (_error, said) => command('status', said)),
  step(PaymentPoolExhaustedError, (_error, said) => command('status', said)),
  step(GroupCommitTimeoutError, (_error, said) => command('status', said), 'timeout'),
  step(TimeoutError, (_error, said) => command('status', said), 'timeout'),
  step(
    QueryFailedError,
    (error, said) =>
      lacksPrivilege(error)
        ? `Use a user with the privileges in docs/getting-started.md#privileges, or have them granted, then: ${again(said)}`
        : again(said),
    'database-error',
  ),
];

function nextOfAction({ reason }: PaymentOperatorActionError, said: Situation): string {
  if (reason === 'busy') return again(said);
  if (reason === 'refused') return `Correct the command line: ${again(said)}`;
  if (said.given?.command === 'deliver') return `Start an instance that has the handler, then: ${again(said)}`;
  const found = command(said.given?.command ?? 'check', said, [said.given?.operand || 'BILL', '--shop', 'NAME']);
  return `Correct the id, or specify the bill's shop: ${found}`;
}

function sourceOf({ given }: Situation): string {
  return given?.values.config ?? `the environment or ${given?.environmentFiles ?? '.env'}`;
}

function addressOf({ given }: Situation): string {
  return given?.values['data-source'] ?? `DATABASE_URL in the environment or ${given?.environmentFiles ?? '.env'}`;
}

function shopOf({ given }: Situation): string[] {
  return given?.values.shop === undefined ? [] : ['--shop', given.values.shop];
}

/** The same command line once more. */
function again({ args }: Situation): string {
  return [PROGRAM, ...args.map(quoted)].join(' ');
}

/** Another command on the same data source and configuration. */
function command(name: string, { given }: Situation, more: readonly string[] = []): string {
  const values: Partial<Given['values']> = given?.values ?? {};
  const files = [
    ...[values['data-source'] ?? []].flat().flatMap((file) => ['--data-source', file]),
    ...[values.config ?? []].flat().flatMap((file) => ['--config', file]),
    ...(values['env-file'] ?? []).flatMap((file) => ['--env-file', file]),
  ];
  return [PROGRAM, name, ...more, ...files].map((word, index) => (index === 0 ? word : quoted(word))).join(' ');
}

/** As a shell reads it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Others' messages may be empty, as when no address answers. */
function reasonText(error: unknown): string {
  return error instanceof Error && error.message === '' ? errorType(error) : describeError(error);
}
