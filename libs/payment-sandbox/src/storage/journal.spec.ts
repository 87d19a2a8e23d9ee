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

  test('what was appended is in the file once it is durable, commit by commit, in order', async () => {
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

  test('no other user reads it: it holds the shops’ tokens', async () => {
    await FileJournal.openCompacted(folder, path, []).close();
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  test('a torn last line is cut off at whatever byte', () => {
    const whole = '[{"clockOffsetMs":1}]\n';
    const last = Buffer.from('[{"faults":{}},{"shop":"ж"}]\n');
    for (let length = 0; length < last.length; length += 1) {
      writeFileSync(path, Buffer.concat([Buffer.from(whole), last.subarray(0, length)]));
      expect(FileJournal.read(path)).toEqual([[{ clockOffsetMs: 1 }]]);
      expect(readFileSync(path, 'utf8')).toBe(whole);
    }
  });

  test('nothing counts as durable once another sandbox, which the lock does not reach, has replaced the file', async () => {
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

  test('once a write failed, nothing counts as durable any more', async () => {
    writeFileSync(path, '');
    const journal = new FileJournal(openSync(path, 'r'), path); // no write to it succeeds
    journal.append([{ clockOffsetMs: 1 }]);
    await expect(journal.durable()).rejects.toThrow(/Cannot write the sandbox journal/);
    journal.append([{ clockOffsetMs: 2 }]);
    await expect(journal.durable()).rejects.toThrow(/Cannot write the sandbox journal/);
    await journal.close();
  });
});
