/** The HTTP adapters that a host may run on: for what one of them could answer differently. */
export const ADAPTERS = ['express', 'fastify'] as const;

export type Adapter = (typeof ADAPTERS)[number];

/**
 * For what happens below the adapter, once a request has been read: one of them in `npm test`, both in
 * `npm run test:full`, and with `--rest` the one that `npm test` leaves out.
 */
export const ONE_ADAPTER: readonly Adapter[] =
  { all: ADAPTERS, rest: ADAPTERS.slice(1) }[process.env.TEST_ADAPTERS ?? ''] ?? ADAPTERS.slice(0, 1);
