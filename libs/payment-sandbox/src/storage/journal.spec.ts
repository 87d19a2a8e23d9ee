import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FileJournal } from './journal.js';

describe('the journal', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'journal-'));
    path = join(folder, 'journal.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('appended commits are in the journal file, in order, once they are durable', async () => {
    const journal = FileJournal.openCompacted(folder, path, [{ clockOffsetMs: 0 }]);
    const commits = Array.from({ length: 50 }, (_, index) => [{ clockOffsetMs: index }, { faults: { seed: index } }]);
    for (const [index, commit] of commits.entries()) {
      journal.append(commit);
      if (index % 7 === 0) await journal.durable();
    }
    await journal.durable();
    expect(FileJournal.read(path)).toEqual([[{ clockOffsetMs: 0 }], ...commits]);
    await journal.close();
  });

  test('the journal file, which holds the tokens of the shops, is readable only by its owner', async () => {
    await FileJournal.openCompacted(folder, path, []).close();
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  test('a torn last line of the journal is cut off, at whatever byte it ends', () => {
    const whole = '[{"clockOffsetMs":1}]\n';
    const last = Buffer.from('[{"faults":{}},{"shop":"ж"}]\n');
    for (let length = 0; length < last.length; length += 1) {
      writeFileSync(path, Buffer.concat([Buffer.from(whole), last.subarray(0, length)]));
      expect(FileJournal.read(path)).toEqual([[{ clockOffsetMs: 1 }]]);
      expect(readFileSync(path, 'utf8')).toBe(whole);
    }
  });

  test('no commit counts as durable once another sandbox has replaced the journal file', async () => {
    const first = FileJournal.openCompacted(folder, path, []);
    const second = FileJournal.openCompacted(folder, path, []);
    first.append([{ clockOffsetMs: 1 }]);
    second.append([{ clockOffsetMs: 2 }]);
    await expect(first.durable()).rejects.toMatchObject({
      cause: new Error('Another sandbox has taken over the folder'),
    });
    await second.durable();
    await Promise.all([first.close(), second.close()]);
  });

  test('after a failed write no commit counts as durable any more', async () => {
    writeFileSync(path, '');
    const journal = new FileJournal(openSync(path, 'r'), path); // no write to it succeeds
    journal.append([{ clockOffsetMs: 1 }]);
    await expect(journal.durable()).rejects.toThrow(/Cannot write the sandbox journal/);
    journal.append([{ clockOffsetMs: 2 }]);
    await expect(journal.durable()).rejects.toThrow(/Cannot write the sandbox journal/);
    await journal.close();
  });
});
