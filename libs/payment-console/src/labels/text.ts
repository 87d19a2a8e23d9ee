/** `1 bill`, `2 bills`. */
export function count(number: number, noun: string, nouns = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : nouns}`;
}

export function times(number: number): string {
  return number === 1 ? 'once' : number === 2 ? 'twice' : `${number} times`;
}

/** `a, b and c`. */
export function list(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** A stored value of any type, as it stands in a sentence. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

export function money(amount: string | null, currency: string | null): string {
  return `${amount ?? 'no amount'} ${currency ?? 'without a currency'}`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const;

/** `3 h 12 m`: the two largest units. */
export function duration(ms: number): string {
  const first = UNITS.findIndex(([size]) => ms >= size);
  if (first < 0) return '0 s';
  let rest = ms;
  const parts = UNITS.slice(first, first + 2).map(([size, name]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return amount > 0 ? `${amount} ${name}` : '';
  });
  return parts.filter(Boolean).join(' ');
}
