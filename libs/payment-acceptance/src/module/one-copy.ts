import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';

/**
 * The application and this package must share one copy of these: their classes are tokens, and their metadata stays in
 * the copy that wrote it.
 */
const SHARED_PACKAGES = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'typeorm'];

/**
 * Describes the problem if the application loads a different copy of these packages than this package does, as happens
 * with `npm link`; otherwise `undefined`.
 * @param packageFolder a folder of this package; `undefined` in some bundles
 */
export function duplicateCopyProblem(
  packageFolder: string | undefined,
  application = process.cwd(),
): string | undefined {
  const installedFolder = placeOf('nestjs-payment-acceptance', application);
  // Checks only where the application surely loads this very package.
  if (
    packageFolder === undefined ||
    installedFolder === undefined ||
    !packageFolder.startsWith(installedFolder + path.sep)
  )
    return undefined;
  for (const name of SHARED_PACKAGES) {
    const [ours, theirs] = [placeOf(name, installedFolder), placeOf(name, application)];
    if (ours === undefined || theirs === undefined || ours === theirs) continue;
    return `${name} is installed twice, for the application in ${theirs} and for nestjs-payment-acceptance in ${ours}, but both must share one copy: install nestjs-payment-acceptance from its packed file or the registry instead of linking it, or run your package manager's dedupe.`;
  }
  return undefined;
}

/** Finds the folder as Node.js does, without symbolic links. */
function placeOf(name: string, from: string): string | undefined {
  const place = path.join(from, 'node_modules', name);
  if (existsSync(place)) return realpathSync(place);
  const parent = path.dirname(from);
  return parent === from ? undefined : placeOf(name, parent);
}
