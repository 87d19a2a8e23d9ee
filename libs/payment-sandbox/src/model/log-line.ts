import type { Instant } from './entities.js';

/** One line for the terminal: a request to the API and its answer, or a try of a postback. */
export interface LogLine {
  /** On the sandbox's clock. */
  at: Instant;
  /** Without the time; it holds no line break and no control character. */
  text: string;
  /** Something went wrong, and the text says what. */
  problem: boolean;
}

/** A text from outside, so that it cannot steer a terminal or break a line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
