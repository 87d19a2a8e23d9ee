import { RunError } from './run.mjs';

/** @typedef {{ name: string, ok: boolean, detail: string, skipped?: string }} Check `skipped`: why it was not tried. */

/** @returns {Promise<Check>} */
export async function attempt(/** @type {string} */ name, /** @type {() => Promise<string | void>} */ work) {
  const { error, output } = await settled(work());
  return { name, ok: !error, detail: error ? `${error.message}\n${output}` : output };
}

/** @returns {Promise<{ error?: Error, output: string }>} */
export async function settled(/** @type {Promise<string | void>} */ work) {
  try {
    return { output: (await work) ?? '' };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error, output: error instanceof RunError ? error.output : '' };
  }
}

/** Prints a line for each. */
export function printed(/** @type {Check[]} */ checks) {
  for (const { ok, name, detail, skipped } of checks) {
    const sign = skipped ? '–' : ok ? '✓' : '✗';
    console.log(`  ${sign} ${name}${skipped ? `: skipped: ${skipped}` : ok ? '' : `\n${indented(detail)}`}`);
  }
  return checks;
}

function indented(/** @type {string} */ text) {
  return text.trim().replace(/^/gm, '      ');
}
