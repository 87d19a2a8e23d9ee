import { defineConfig } from 'vitest/config';

/** The runner of `nest new` of NestJS 12, with the test that Jest runs: what it takes from there, Vitest has too. */
export default defineConfig({
  resolve: { alias: { '@jest/globals': 'vitest' } },
  test: { include: ['testing.host.ts'], testTimeout: 60_000 },
});
