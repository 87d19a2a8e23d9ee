import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Their classes are tokens, and their metadata stays in the copy: the application and this package must share one. */
const SHARED = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'typeorm'];

/**
 * The sentence for an application that loads another copy of these packages than this one does, as `npm link` brings about.
 * @param here a folder of this package; a bundler may leave it out
 */
export function twoCopies(here: string | undefined, application = process.cwd()): string | undefined {
  const own = placeOf('nestjs-payment-acceptance', application);
  // Only where the application surely loads this very package.
  if (here === undefined || own === undefined || !here.startsWith(own + path.sep)) return undefined;
  for (const name of SHARED) {
    const [ours, theirs] = [placeOf(name, own), placeOf(name, application)];
    if (ours === undefined || theirs === undefined || ours === theirs) continue;
    return `${name} is installed twice, for the application in ${theirs} and for nestjs-payment-acceptance in ${ours}, but both must share one copy: install nestjs-payment-acceptance from its packed file or the registry instead of linking it, or run your package manager's dedupe.`;
  }
  return undefined;
}

/** The folder of a package, without symbolic links, found as Node.js does. */
function placeOf(name: string, from: string): string | undefined {
  const place = path.join(from, 'node_modules', name);
  if (existsSync(place)) return realpathSync(place);
  const above = path.dirname(from);
  return above === from ? undefined : placeOf(name, above);
}
