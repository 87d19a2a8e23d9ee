// The command line reads the host's TypeScript by a loader of the host's, tsx or ts-node, and advises where that does not do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

const hasTsNode = fs.existsSync('node_modules/ts-node');
fs.writeFileSync(
  'app/bare.data-source.ts',
  `import { DataSource } from 'typeorm';
   console.log('a banner');
   export default new DataSource({ type: 'postgres', url: process.env['DATABASE_URL'] ?? '' } as const);`,
);
fs.writeFileSync(
  'app/payments.config.ts',
  `import type { PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
   const token: string = 'a-token-of-this-check-0123456789';
   export default (): PaymentAcceptanceOptions =>
     ({ schema: 'typescript_check', shops: { main: { shopId: '17', apiToken: token, apiBaseUrl: 'http://127.0.0.1:9' } } });`,
);

const bare = ['--data-source', 'app/bare.data-source.ts', '--config', 'app/payments.config.ts', '--json'];
succeeds('migrate', ...bare);
assert.equal(succeeds('status', ...bare).status, 'up');

// tsx emits no types of columns, and ts-node does not find `order.entity.ts` where an import of CommonJS says `.js`.
const { status, stdout } = program('migrate', '--data-source', 'app/data-source.ts', '--json');
assert.equal(status, 2);
assert.match(JSON.parse(stdout).error.message, /Pass the compiled file, such as --data-source dist\/data-source\.js/);

/** The JSON document of a command. */
function succeeds(...args) {
  const { status, stdout, stderr } = program(...args);
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout);
}

function program(...args) {
  const NODE_OPTIONS = hasTsNode ? '--require ts-node/register' : '--import tsx';
  return spawnSync('node_modules/.bin/payment-acceptance', args, {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS },
  });
}
