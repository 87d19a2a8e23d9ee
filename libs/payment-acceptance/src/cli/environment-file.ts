import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { UsageError, type Arguments } from './arguments.js';

/** A command line, and where its environment comes from. */
export interface Given extends Arguments {
  /** The files that were read, as a sentence names them. */
  readonly environmentFiles: string;
}

/**
 * Adds the variables of the host's files to `env`, by the rule of `@nestjs/config`: a variable that is already set keeps its
 * value, even an empty one, and the first of several files wins. Without `--env-file` this is `.env` in the working folder,
 * if there is one.
 * @returns the files as a sentence names them
 * @throws UsageError if a file that was named does not exist, or one cannot be read
 */
export function loadEnvironmentFiles({ values }: Pick<Arguments, 'values'>, env: NodeJS.ProcessEnv): string {
  const named = values['env-file'];
  if (values['no-env-file']) {
    if (named) throw new UsageError('--env-file and --no-env-file contradict each other: leave one out.');
    return 'no file (--no-env-file)';
  }
  const files = (named ?? ['.env']).map((file) => path.resolve(file));
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) {
    if (named) throw new UsageError(`--env-file: there is no file ${missing}.`);
    return `${missing} (which does not exist)`;
  }
  for (const file of files) {
    for (const [name, value] of Object.entries(read(file))) {
      if (!(name in env)) env[name] = value;
    }
  }
  return files.join(', ');
}

function read(file: string): NodeJS.Dict<string> {
  try {
    // Some editors on Windows begin a file with a byte order mark, which parseEnv takes for a part of the first name.
    return parseEnv(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}
