import type { LoggerService } from '@nestjs/common';
import { inspect } from 'node:util';

/** Keeps every log line, at every level, with all its parameters. */
export class LogRecorder implements LoggerService {
  readonly lines: string[] = [];

  log = this.at('log');
  error = this.at('error');
  warn = this.at('warn');
  debug = this.at('debug');
  verbose = this.at('verbose');
  fatal = this.at('fatal');

  /** All lines as one text. */
  get text(): string {
    return this.lines.join('\n');
  }

  private at(level: string) {
    return (message: unknown, ...more: unknown[]): void => {
      const parts = [message, ...more].map((part) => (typeof part === 'string' ? part : inspect(part, { depth: 8 })));
      this.lines.push([level, ...parts].join(' '));
    };
  }
}
