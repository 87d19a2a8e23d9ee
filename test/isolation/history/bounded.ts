/** By then the module's own limits must have ended every call, even on a silent connection. */
const LIMIT_MS = 8_000;

/** The module's own limits have not ended a call. */
class HangsError extends Error {}

/** Fails if the work does not end by the module's own limits. */
export async function bounded<T>(work: Promise<T>): Promise<T> {
  const hangs = new HangsError(`No limit of the module's has ended the call within ${LIMIT_MS} ms.`);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => (timer = setTimeout(() => reject(hangs), LIMIT_MS)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Ignores an error, unless the call did not end. */
export function unlessItHangs(error: unknown): undefined {
  if (error instanceof HangsError) throw error;
  return undefined;
}
