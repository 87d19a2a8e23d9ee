import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';
import type { OpenedAhead } from './opened-ahead.js';

type Use = (error: Error | null, socket: Duplex) => void;

/** What a connection is made of. The rest of its first request, the token above all, is not kept for the next ones. */
function withoutRequest<T extends http.ClientRequestArgs>(options: T): T {
  return { ...options, headers: undefined, auth: undefined };
}

/** Gives each request a connection that was never used, and closes it after that. */
export class HttpCreationAgent extends http.Agent {
  readonly #ahead: OpenedAhead;

  constructor(ahead: OpenedAhead) {
    super({ keepAlive: false });
    this.#ahead = ahead;
  }

  override createConnection(options: http.ClientRequestArgs, use?: Use): Duplex | undefined {
    const connecting = withoutRequest(options);
    const begin = (): Socket => super.createConnection(connecting) as Socket;
    const name = `http ${this.getName(connecting)}`;
    return use ? this.#ahead.connect(name, { begin, upAt: 'connect' }, use) : begin();
  }
}

/** The same over TLS. */
export class HttpsCreationAgent extends https.Agent {
  readonly #ahead: OpenedAhead;
  /** One for all connections: Node makes one for each otherwise, which was over a quarter of the time that opening took. */
  readonly #context: () => SecureContext;

  /** @param tls what connections are made with, beside Node's defaults */
  constructor(ahead: OpenedAhead, tls: Pick<https.AgentOptions, 'ca'> = {}) {
    super({ ...tls, keepAlive: false });
    this.#ahead = ahead;
    let context: SecureContext | undefined;
    this.#context = () => (context ??= createSecureContext(tls));
  }

  override createConnection(options: https.RequestOptions, use?: Use): Duplex | undefined {
    const connecting = withoutRequest(options);
    const begin = (): Socket => {
      const secure: https.RequestOptions & Pick<ConnectionOptions, 'secureContext'> = {
        ...connecting,
        secureContext: this.#context(),
      };
      return super.createConnection(secure) as Socket;
    };
    const name = `https ${this.getName(connecting)}`;
    return use ? this.#ahead.connect(name, { begin, upAt: 'secureConnect' }, use) : begin();
  }
}
