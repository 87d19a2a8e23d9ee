import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { UsageError, type Arguments } from './arguments.js';

export interface CommandLine extends Arguments {
  /** The files that were read, as a sentence names them. */
  readonly environmentFiles: string;
}

/**
 * Adds the variables of `--env-file`, by default of `.env` in the working folder if there is one, by the rule of
 * `@nestjs/config`: a variable that is already set keeps its value, even an empty one, and the first of several files
 * wins.
 * @returns the files as a sentence names them
 * @throws UsageError if a file cannot be read
 */
export function loadEnvironmentFiles({ values }: Pick<Arguments, 'values'>, env: NodeJS.ProcessEnv): string {
  const files = (values['env-file'] ?? ['.env']).map((file) => path.resolve(file));
  if (!values['env-file'] && files.some((file) => !existsSync(file))) return `${files[0]} (which does not exist)`;
  for (const file of files) {
    try {
      // Some Windows editors begin a file with a byte order mark, which parseEnv would take for part of the first name.
      const read = parseEnv(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
      for (const [name, value] of Object.entries(read)) env[name] ??= value;
    } catch (error) {
      throw new UsageError(`--env-file: ${(error as Error).message}`);
    }
  }
  return files.join(', ');
}
