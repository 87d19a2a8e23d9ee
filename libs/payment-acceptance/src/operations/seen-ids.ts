import { hash } from 'node:crypto';

/** A place holds 128 bits of the digest of an id, in which no two ids of a file agree. */
const WORDS = 4;
const FIRST_PLACES = 1 << 12;

/** The ids of a file, however many: at most 64 bytes for each, outside of the heap. */
export class SeenIds {
  private words = new Uint32Array(FIRST_PLACES * WORDS);
  private size = 0;

  /** `false` where it has been added before. */
  add(id: string): boolean {
    const digest = digestOf(id);
    const at = this.placeOf(digest, this.words);
    if (this.words[at] !== 0) return false;
    this.words.set(digest, at);
    this.size += 1;
    if (this.size * WORDS * 2 > this.words.length) this.grow();
    return true;
  }

  has(id: string): boolean {
    return this.words[this.placeOf(digestOf(id), this.words)] !== 0;
  }

  private grow(): void {
    const larger = new Uint32Array(this.words.length * 2);
    for (let at = 0; at < this.words.length; at += WORDS) {
      const digest = this.words.subarray(at, at + WORDS);
      if (digest[0] !== 0) larger.set(digest, this.placeOf(digest, larger));
    }
    this.words = larger;
  }

  /** Where the digest is, or would be. The first word of a place that is taken is never 0. */
  private placeOf(digest: Uint32Array, words: Uint32Array): number {
    const places = words.length / WORDS;
    for (let place = (digest[1] ?? 0) % places; ; place = (place + 1) % places) {
      const at = place * WORDS;
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
