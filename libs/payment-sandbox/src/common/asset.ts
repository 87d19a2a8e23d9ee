import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A stylesheet, script or picture. Its address changes with its content, so browsers may cache it for ever. */
export class Asset {
  readonly address: string;
  private readonly version: string;

  constructor(
    readonly name: string,
    private readonly type: string,
    private readonly text: string,
  ) {
    this.version = createHash('sha256').update(text).digest('hex').slice(0, 8);
    this.address = `/sandbox/assets/${name}?${this.version}`;
  }

  send(response: ServerResponse, url = ''): void {
    response.writeHead(200, {
      'content-type': `${this.type}; charset=utf-8`,
      'cache-control': url.endsWith(`?${this.version}`) ? 'public, max-age=31536000, immutable' : 'no-cache',
      'x-content-type-options': 'nosniff',
    });
    response.end(this.text);
  }
}
