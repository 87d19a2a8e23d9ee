import { compile } from './compile.mjs';
import { ensureInstalled } from './install.mjs';

/** What a fresh clone lacks: dependencies and compiled output. */
export async function prepare() {
  await ensureInstalled();
  await compile();
}
