import { CALLBACK_ROUTES, postedPaths, resolveRoutes, type CallbackRoutes } from '../callbacks/routes.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentRandom } from '../common/random.js';
import type { PaymentAcceptanceExtras } from '../config/extras.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { resolveOptions } from '../config/resolve-options.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentDoctor, type DoctorFinding, type DoctorVerdict } from '../operations/payment-doctor.service.js';
import type { Command } from './commands.js';
import type { CommandLine } from './environment-file.js';
import { optionsOf } from './host.js';
import { printJson, type Output } from './output.js';

/** Exits with 1 if anything differs from what is expected. */
export const doctor: Command = async (context, { values }, output) => {
  const findings = await context.get(PaymentDoctor).examine(values.shop);
  const options = context.get<ResolvedOptions>(RESOLVED_OPTIONS, { strict: false });
  const routes = context.get<CallbackRoutes>(CALLBACK_ROUTES, { strict: false });
  return report(findings, { options, routes, json: values.json }, output);
};

/** Examines only the service's answers, for somebody who is still deciding whether the module fits. */
export async function doctorWithoutDatabase(
  { values }: CommandLine,
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<number> {
  const hostOptions: PaymentAcceptanceOptions & PaymentAcceptanceExtras = await optionsOf(values.config, env);
  const { routes = {}, role: _role, dataSource: _dataSource, routeImports: _imports, ...moduleOptions } = hostOptions;
  const options = resolveOptions(moduleOptions, env['NODE_ENV']);
  const shops = new ShopRegistry(options, new PaymentClock());
  const findings = await new PaymentDoctor(null, shops, new PaymentRandom(), options).examine(values.shop);
  output.err(
    'No database is configured, so only the answers of the service were examined. To examine stored payments and postbacks ' +
      'as well, set DATABASE_URL or pass --data-source FILE.\n',
  );
  return report(findings, { options, routes: resolveRoutes(routes), json: values.json }, output);
}

interface ReportContext {
  readonly options: ResolvedOptions;
  readonly routes: CallbackRoutes;
  readonly json: boolean | undefined;
}

function report(findings: readonly DoctorFinding[], { options, routes, json }: ReportContext, output: Output): number {
  if (json) printJson(output, findings);
  else {
    printCallbacks(options, routes, output);
    for (const { shop, verdict, name, section, basis, expectation, detail } of findings) {
      output.out(`${verdict.padEnd(14)} ${shop}: ${name} (section ${section}, ${basis})\n`);
      output.out(`               ${expectation}\n               Seen: ${detail}\n`);
    }
    printSummary(findings, output);
  }
  return findings.some(({ verdict }) => verdict === 'different') ? 1 : 0;
}

/** Says separately if a token is refused, since that is not the service's fault. */
function printSummary(findings: readonly DoctorFinding[], { out }: Output): void {
  const count = (verdict: DoctorVerdict): number => findings.filter((finding) => finding.verdict === verdict).length;
  out(
    `\n${count('confirmed')} confirmed, ${count('different')} different, ${count('not-probeable')} could not be examined.\n`,
  );
  for (const { shop, name, verdict } of findings) {
    if (verdict === 'different' && name === 'token') {
      out(`The service rejects the token of shop "${shop}": check its option apiToken.\n`);
    }
  }
}

/** A global prefix and a proxy may change the callback paths. */
function printCallbacks({ publicUrl = '' }: ResolvedOptions, routes: CallbackRoutes, { out }: Output): void {
  const paths = postedPaths(routes);
  if (paths.length === 0) return;
  for (const path of paths) out(`callbacks      POST ${publicUrl}/${path}[/SHOP]\n`);
  out(
    "               The application's global prefix, if any, comes before these paths; the application logs the full paths at startup.\n",
  );
}
