import type { Instant } from './entities.js';

/** One line for the terminal: a request to the API and its answer, or an attempt to deliver a postback. */
export interface LogLine {
  /** On the sandbox's clock. */
  at: Instant;
  /** Without the time, line breaks or control characters. */
  text: string;
  /** Whether something went wrong; the text says what. */
  problem: boolean;
}

/** Makes text from outside safe to print: it cannot control the terminal or break the line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
