/** Reads `Retry-After`: whole seconds or an HTTP date. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const retryAt = Date.parse(header);
  return Number.isNaN(retryAt) ? undefined : Math.max(0, retryAt - now.getTime());
}
