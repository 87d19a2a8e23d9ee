import { createHash } from 'node:crypto';

/** A stylesheet, script or picture. Its address changes with its content, so browsers may cache it for ever. */
export class Asset {
  readonly address: string;

  constructor(
    readonly name: string,
    readonly type: string,
    readonly text: string,
  ) {
    this.address = `/assets/${name}?${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
  }
}
