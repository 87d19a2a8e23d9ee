/** The HTTP adapters of a host: for tests whose result may depend on the adapter. */
export const ADAPTERS = ['express', 'fastify'] as const;

export type Adapter = (typeof ADAPTERS)[number];

/**
 * For tests of what happens after the adapter has read a request: one adapter in `npm test`, both in
 * `npm run test:full`, and with `--rest` the one that `npm test` leaves out.
 */
export const ONE_ADAPTER: readonly Adapter[] =
  { all: ADAPTERS, rest: ADAPTERS.slice(1) }[process.env.TEST_ADAPTERS ?? ''] ?? ADAPTERS.slice(0, 1);
