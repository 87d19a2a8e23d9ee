import { fileURLToPath } from 'node:url';
import { run } from './children.mjs';
import { CommandError } from './lifecycle.mjs';

/** Compiles what has changed since the last time. */
export async function compile() {
  const code = await run(process.execPath, [fileURLToPath(new URL('./compile-child.mjs', import.meta.url))]);
  if (code !== 0) throw new CommandError('The build failed.', code);
}
