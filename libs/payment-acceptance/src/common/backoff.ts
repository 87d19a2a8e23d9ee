/** A pause that doubles with each failure up to a cap, of which a random part from one half to the whole is taken. */
export function backoff(failures: number, baseMs: number, capMs: number, fraction: number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
  return Math.round(ceiling * (0.5 + fraction / 2));
}
