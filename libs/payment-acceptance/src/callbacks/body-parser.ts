/** What Fastify's adapter and instance tell of their parsers; Express's have nothing of it. */
interface FastifyParsers {
  readonly isParserRegistered?: boolean;
  getInstance(): { hasContentTypeParser?(type: string): boolean };
}

/**
 * Whether the application has switched its body parser off on Fastify, which then turns away forms by itself, before any
 * code of ours could say why. Express lets them through without a body, and the answer says so.
 */
export function rejectsForms(adapter: unknown): boolean {
  const { isParserRegistered, getInstance } = (adapter ?? {}) as Partial<FastifyParsers>;
  if (isParserRegistered !== false || !getInstance) return false;
  return getInstance.call(adapter).hasContentTypeParser?.('application/x-www-form-urlencoded') === false;
}
