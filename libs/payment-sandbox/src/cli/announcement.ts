import { demoShops } from '../console/demo-shops.js';
import { firstCharacters } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import type { ProgramOptions } from './arguments.js';

const LOOPBACK_PATTERN = /^(localhost|127\.[\d.]+|::1)$/;
const DEMO_TOKENS = Object.values(demoShops('http://localhost')).map(({ apiToken }) => apiToken);

export function announcement(url: string, shops: readonly Shop[], options: ProgramOptions): string {
  return [
    `Sandbox: ${url}`,
    `Console: ${url}/sandbox`,
    `State:   ${options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`}`,
    'Shops:',
    ...shops.map(shopLine),
    ...openings(options),
    'Ready. Press Ctrl-C to stop.',
    '',
  ].join('\n');
}

/** The demo shops' tokens are public; others are cut to their first characters. */
function shopLine({ id, apiToken, resultUrl }: Shop): string {
  const token = DEMO_TOKENS.includes(apiToken) ? apiToken : firstCharacters(apiToken);
  return `  ${id}  token ${token}  postbacks to ${resultUrl ?? 'nowhere (resultUrl is not set)'}`;
}

function openings({ host = '127.0.0.1', port, controlHosts = [] }: ProgramOptions): string[] {
  if (LOOPBACK_PATTERN.test(host)) return [];
  const console =
    controlHosts.length === 0
      ? 'The console and /sandbox accept requests only from this machine; to let others in, set --control-hosts.'
      : `The console and /sandbox are open to anyone who uses the names ${controlHosts.join(', ')}: such clients can read every token and change everything.`;
  return [`Open:    anyone who reaches port ${port} of this machine can use the API and the payer's pages. ${console}`];
}
