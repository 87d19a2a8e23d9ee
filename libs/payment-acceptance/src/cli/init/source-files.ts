import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** A file of the application, without comments. */
export interface SourceFile {
  /** From the application's folder, with `/`. */
  readonly file: string;
  readonly text: string;
}

/** A piece of code in a file. */
export interface Place {
  readonly file: string;
  readonly code: string;
}

const MAX_FILES = 3000;
const MAX_BYTES = 300_000;
const SKIPPED = /^(node_modules|dist|build|coverage|test|tests|e2e|__tests__|\..*)$/;
const SOURCE = /(?<!\.d|[.-]spec|[.-]test)\.[cm]?[jt]s$/;

/** The application's own sources: no tests, nothing that was built, no other package of its repository. */
export function readSources(folder: string): SourceFile[] {
  const files: SourceFile[] = [];
  const queue = [''];
  for (let place = queue.shift(); place !== undefined && files.length < MAX_FILES; place = queue.shift()) {
    for (const entry of readdirSync(path.join(folder, place), { withFileTypes: true })) {
      const file = path.posix.join(place, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED.test(entry.name) && !existsSync(path.join(folder, file, 'package.json'))) queue.push(file);
      } else if (entry.isFile() && SOURCE.test(entry.name) && statSync(path.join(folder, file)).size <= MAX_BYTES) {
        files.push({ file, text: withoutComments(readFileSync(path.join(folder, file), 'utf8')) });
      }
    }
  }
  return files;
}

/** All matches of a pattern with the flag `g`, in the order of the files. */
export function matches(files: readonly SourceFile[], pattern: RegExp): (Place & { groups: (string | undefined)[] })[] {
  return files.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].map(([code, ...groups]) => ({ file, code: code.replace(/\s+/g, ' ').trim(), groups })),
  );
}

/** Roughly: a comment's mark within a text may take the rest of the line with it, which is why findings name their file. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[\s;{},(])\/\/.*$/gm, '$1');
}
