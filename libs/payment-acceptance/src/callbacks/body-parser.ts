/** What Fastify's adapter and instance reveal about their parsers. Express's have none of these members. */
interface FastifyParsers {
  readonly isParserRegistered?: boolean;
  getInstance(): { hasContentTypeParser?(type: string): boolean };
}

/**
 * Whether the application disabled its body parser on Fastify, which then rejects forms before our code can say why.
 * Express lets them through without a body, and our answer explains that.
 */
export function rejectsForms(adapter: unknown): boolean {
  const { isParserRegistered, getInstance } = (adapter ?? {}) as Partial<FastifyParsers>;
  if (isParserRegistered !== false || !getInstance) return false;
  return getInstance.call(adapter).hasContentTypeParser?.('application/x-www-form-urlencoded') === false;
}
