import { PaymentConfigurationError } from '../config/configuration.error.js';
import { ROUTE_RULES } from '../config/option-rules.js';
import type {
  PaymentRoutesOptions,
  PostbackRoutesOptions,
  RedirectRoutesOptions,
  RouteDecorators,
} from '../config/extras.js';
import { readOptions } from '../config/read-options.js';

/** Paths have no slash at either end. */
export interface CallbackRoutes {
  /** `undefined` if disabled. */
  readonly redirect: (RequiredDecorators & Readonly<Record<'success' | 'fail' | 'result', string>>) | undefined;
  readonly postback: (RequiredDecorators & { readonly path: string }) | undefined;
}
type RequiredDecorators = Readonly<Required<RouteDecorators>>;

export const CALLBACK_ROUTES = Symbol.for('nestjs-payment-acceptance/callback-routes');

/** @throws PaymentConfigurationError for invalid or equal paths */
export function resolveRoutes(options: PaymentRoutesOptions): CallbackRoutes {
  const problems: string[] = [];
  const all = readOptions(ROUTE_RULES, { ...options }, { path: 'routes', production: false, problems });
  const redirect = all.redirect as Required<RedirectRoutesOptions> | false;
  const postback = all.postback as Required<PostbackRoutesOptions> | false;
  const optionByPath = new Map<string, string>();
  const pathOf = (option: string, path: string): string => {
    const name = `routes.${option}`;
    const fullPath = [...segments(all.path), ...segments(path)].join('/');
    const other = optionByPath.get(fullPath);
    if (other) problems.push(`${name}: is also the path of ${other}. Give each its own path.`);
    optionByPath.set(fullPath, name);
    return fullPath;
  };
  const withDecorators = (routeOptions: RequiredDecorators): RequiredDecorators => ({
    decorators: [...all.decorators, ...routeOptions.decorators],
    classDecorators: [...all.classDecorators, ...routeOptions.classDecorators],
  });
  const routes: CallbackRoutes = {
    redirect: redirect
      ? {
          success: pathOf('redirect.successPath', redirect.successPath),
          fail: pathOf('redirect.failPath', redirect.failPath),
          result: pathOf('redirect.resultPath', redirect.resultPath),
          ...withDecorators(redirect),
        }
      : undefined,
    postback: postback ? { path: pathOf('postback.path', postback.path), ...withDecorators(postback) } : undefined,
  };
  const posted = postedPaths(routes);
  for (const path of posted) {
    const parent = path.replace(/\/[^/]+$/, '');
    if (parent === path || !posted.includes(parent)) continue;
    const [child, ofParent] = [optionByPath.get(path), optionByPath.get(parent)];
    problems.push(
      `${child}: is below ${ofParent}, where its last part would be taken for a shop. Give it another path.`,
    );
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  return routes;
}

/** A shop's name may follow each path. */
export function postedPaths({ redirect, postback }: CallbackRoutes): string[] {
  return [...(redirect ? [redirect.success, redirect.fail] : []), ...(postback ? [postback.path] : [])];
}

/**
 * The address of `to` relative to a page at `from`, so that whatever precedes both (a global prefix, a proxy's path) is
 * kept.
 * @param deeper how many path segments follow `from` in the current address
 */
export function relativePath(from: string, to: string, deeper: number): string {
  const [source, target] = [segments(from), segments(to)];
  while (source.length > 1 && target.length > 1 && source[0] === target[0]) {
    source.shift();
    target.shift();
  }
  return '../'.repeat(source.length - 1 + deeper) + target.join('/');
}

function segments(path: string): string[] {
  return path.split('/').filter(Boolean);
}
