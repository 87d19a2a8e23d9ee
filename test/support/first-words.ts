import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** What a process writes first, which says that it listens; rejects where it ends before. */
export async function firstWords(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('The process ended before it listened.');
  });
  // It does end some time.
  ended.catch(() => undefined);
  const [words] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  return words.toString().trim();
}
