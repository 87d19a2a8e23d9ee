import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** The first output of a process, which shows that it is listening; rejects if the process ends before. */
export async function firstWords(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('The process ended before it was listening.');
  });
  // It does end some time.
  ended.catch(() => undefined);
  const [words] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  return words.toString().trim();
}
