import { defineConfig } from 'vitest/config';

/** The runner of `nest new` of NestJS 12, for the same test that Jest runs: it uses only what Vitest has, too. */
export default defineConfig({
  resolve: { alias: { '@jest/globals': 'vitest' } },
  test: { include: ['testing.host.ts'], testTimeout: 60_000 },
});
