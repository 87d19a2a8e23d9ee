import type { Output } from './output.js';

const TERMINAL_MS = 250;
const LINES_MS = 15_000;

/**
 * Adds progress on standard error: on a terminal one line that is replaced as the work goes on, otherwise, as in the log of a
 * job, a line every 15 seconds. Short work says nothing.
 * @param now milliseconds of a clock that never goes back
 */
export function withProgress(
  { out, err }: Output,
  { terminal, now }: { readonly terminal: boolean; readonly now: () => number },
): Output {
  let last = now();
  let shown = false;
  const clear = (): void => {
    if (shown) err(ERASE);
    shown = false;
  };
  return {
    out(text) {
      clear();
      out(text);
    },
    err(text) {
      clear();
      err(text);
    },
    progress(text) {
      if (now() - last < (terminal ? TERMINAL_MS : LINES_MS)) return;
      last = now();
      err(terminal ? `${ERASE}${text}` : `${text}\n`);
      shown = terminal;
    },
  };
}

/** Goes to the start of the line and erases it. */
const ERASE = '\r\u001b[2K';

/** Passes items on and says after each how many there were, of how many if that is known. */
export async function* counted<T>(
  items: Iterable<T> | AsyncIterable<T>,
  { progress }: Output,
  what: string,
  total?: number,
): AsyncGenerator<T> {
  let count = 0;
  for await (const item of items) {
    yield item;
    count += 1;
    progress?.(`${count}${total === undefined ? '' : ` of ${total}`} ${what}`);
  }
}
