import { hash } from 'node:crypto';

/** A slot holds 128 bits of the digest of an id: enough that no two ids of a file collide. */
const WORDS = 4;
const INITIAL_SLOTS = 1 << 12;

/** A set of any number of ids: at most 64 bytes for each, outside the V8 heap. */
export class SeenIds {
  private words = new Uint32Array(INITIAL_SLOTS * WORDS);
  private size = 0;

  /** Returns `false` if the id was added before. */
  add(id: string): boolean {
    const digest = digestOf(id);
    const at = this.slotOf(digest, this.words);
    if (this.words[at] !== 0) return false;
    this.words.set(digest, at);
    this.size += 1;
    if (this.size * WORDS * 2 > this.words.length) this.grow();
    return true;
  }

  has(id: string): boolean {
    return this.words[this.slotOf(digestOf(id), this.words)] !== 0;
  }

  private grow(): void {
    const larger = new Uint32Array(this.words.length * 2);
    for (let at = 0; at < this.words.length; at += WORDS) {
      const digest = this.words.subarray(at, at + WORDS);
      if (digest[0] !== 0) larger.set(digest, this.slotOf(digest, larger));
    }
    this.words = larger;
  }

  /** The slot that has the digest, or would get it. The first word of an occupied slot is never 0. */
  private slotOf(digest: Uint32Array, words: Uint32Array): number {
    const slots = words.length / WORDS;
    for (let slot = (digest[1] ?? 0) % slots; ; slot = (slot + 1) % slots) {
      const at = slot * WORDS;
      if (words[at] === 0 || digest.every((word, index) => words[at + index] === word)) return at;
    }
  }
}

function digestOf(id: string): Uint32Array {
  const bytes = Buffer.from(hash('sha256', id, 'hex'), 'hex');
  const words = Uint32Array.from({ length: WORDS }, (_each, index) => bytes.readUInt32LE(index * WORDS));
  if (words[0] === 0) words[0] = 1;
  return words;
}
