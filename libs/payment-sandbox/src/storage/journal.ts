import * as fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Change } from '../model/entities.js';

const writeAsync = promisify(fs.write<Buffer>);
const fsyncAsync = promisify(fs.fsync);

/**
 * An append-only file of JSON lines. One commit is one line, so a commit is kept whole or not at all. Lines that arrive
 * during a write go out together in the next one, with one fsync (group commit). A failed write leaves the end of the
 * file unknown, so nothing is written after it.
 */
export class FileJournal {
  private waiting: string[] = [];
  /** The last requested write; it takes all lines that wait when it starts. Once a write fails, all later ones fail. */
  private tail: Promise<void> = Promise.resolve();

  constructor(
    private readonly fd: number,
    private readonly path: string,
  ) {}

  /** A last line that a kill cut off was never acknowledged, and is dropped. */
  static read(path: string): Change[][] {
    if (!fs.existsSync(path)) return [];
    const bytes = fs.readFileSync(path);
    const commits: Change[][] = [];
    let start = 0;
    // Line by line: the whole file may be longer than a string can be.
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      const line = bytes.toString('utf8', start, end);
      if (line !== '') commits.push(parseLine(path, line, commits.length + 1));
      start = end + 1;
    }
    if (start < bytes.length) fs.truncateSync(path, start);
    return commits;
  }

  /** Atomically replaces the file with one that holds just `changes`. */
  static openCompacted(folder: string, path: string, changes: readonly Change[]): FileJournal {
    const newPath = join(folder, 'journal.new');
    const fd = fs.openSync(newPath, 'w', 0o600);
    for (const change of changes) fs.writeSync(fd, lineOf([change]));
    fs.fsyncSync(fd);
    fs.renameSync(newPath, path);
    if (process.platform !== 'win32') {
      // Windows cannot flush a folder.
      const folderFd = fs.openSync(folder, 'r');
      fs.fsyncSync(folderFd);
      fs.closeSync(folderFd);
    }
    return new FileJournal(fd, path);
  }

  append(changes: readonly Change[]): void {
    this.waiting.push(lineOf(changes));
    if (this.waiting.length > 1) return;
    this.tail = this.tail.then(() => this.write(Buffer.from(this.waiting.splice(0).join(''))));
    this.tail.catch(() => undefined); // durable() reports it
  }

  /** Resolves when everything appended before the call is on disk; always rejects once a write has failed. */
  durable(): Promise<void> {
    return this.tail;
  }

  async close(): Promise<void> {
    const pendingWrites = this.tail.catch(() => undefined);
    // A request that outlives its connection may still commit: nothing may write to a closed file descriptor.
    this.tail = pendingWrites.then(() => {
      fs.closeSync(this.fd);
      throw new Error('The sandbox is closed');
    });
    await this.tail.catch(() => undefined);
  }

  private async write(data: Buffer): Promise<void> {
    try {
      for (let offset = 0; offset < data.length;) {
        offset += (await writeAsync(this.fd, data, offset, data.length - offset)).bytesWritten;
      }
      await fsyncAsync(this.fd);
      // The folder's lock does not reach another machine or container: what is written to a replaced file is lost.
      if (fs.fstatSync(this.fd).ino !== fs.statSync(this.path).ino)
        throw new Error('Another sandbox has taken over the folder');
    } catch (error) {
      throw new Error('Cannot write the sandbox journal: see the cause, correct it, and restart the sandbox', {
        cause: error,
      });
    }
  }
}

function lineOf(changes: readonly Change[]): string {
  return `${JSON.stringify(changes)}\n`;
}

function parseLine(path: string, line: string, number: number): Change[] {
  try {
    return JSON.parse(line) as Change[];
  } catch {
    throw new Error(
      `${path}, line ${number}, is not valid JSON. Repair the line, or move the file away to start empty.`,
    );
  }
}
