import { PaymentConfigurationError } from 'nestjs-payment-acceptance';
import { cleanLine } from './common/text.js';
import type { ConsoleRequest, PaymentConsoleOptions } from './common/options.js';

export interface ResolvedConsoleOptions {
  /** Last segment of the path: links are relative, and begin with it. */
  readonly name: string;
  readonly operator: (request: ConsoleRequest) => string | undefined;
  readonly shop: (request: ConsoleRequest) => string | null | undefined;
}

export const CONSOLE_OPTIONS = Symbol.for('nestjs-payment-acceptance/console-options');

/** @throws PaymentConfigurationError */
export function resolveConsoleOptions(
  options: PaymentConsoleOptions,
  environment: string | undefined,
): ResolvedConsoleOptions {
  const isGuarded = hasGuard(options);
  const name = pathOf(options).split('/').at(-1) ?? '';
  const problems: string[] = [];
  if (!isGuarded && !['development', 'test'].includes(environment?.trim().toLowerCase() ?? '')) {
    problems.push(
      'guards: the console shows and acts on every payment. Restrict access: PaymentConsoleModule.register({ guards: ' +
        '[YourOperatorGuard] }), or { guardedElsewhere: true } if an application-wide guard or a proxy lets only ' +
        'operators through. Without a guard it starts only with NODE_ENV=development or NODE_ENV=test.',
    );
  }
  if (!/^[\w.~-]+(\/[\w.~-]+)*$/.test(pathOf(options)) || /^\.+$/.test(name)) {
    problems.push(
      `path: "${pathOf(options)}" must be a path of letters, digits and - . _ ~, such as "admin/payments".`,
    );
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems, 'PaymentConsoleModule');
  const { operator = operatorOf, shop = () => null } = options;
  return {
    name,
    shop,
    operator: (request) => cleanName(operator(request)) ?? (isGuarded || options.operator ? undefined : 'developer'),
  };
}

export function hasGuard({ guards = [], guardedElsewhere = false }: PaymentConsoleOptions): boolean {
  return guards.length > 0 || guardedElsewhere;
}

export function pathOf({ path = 'payment-console' }: PaymentConsoleOptions): string {
  return path.replace(/^\/+|\/+$/g, '');
}

function operatorOf({ user }: ConsoleRequest): string | undefined {
  const identity = (typeof user === 'object' && user !== null ? user : { id: user }) as Record<string, unknown>;
  return ['email', 'username', 'name', 'sub', 'id']
    .map((key) => (typeof identity[key] === 'number' ? String(identity[key]) : identity[key]))
    .find((value): value is string => typeof value === 'string' && value.trim() !== '');
}

/** One line of limited length, as the log shows it. */
function cleanName(name: unknown): string | undefined {
  const line = typeof name === 'string' ? cleanLine(name.slice(0, 200)) : '';
  return line === '' ? undefined : line;
}
