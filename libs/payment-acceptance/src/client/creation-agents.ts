import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';
import type { OpenedAhead } from './opened-ahead.js';

type Use = (error: Error | null, socket: Duplex) => void;

/**
 * The options that a connection needs. The rest of its first request, above all the token, must not be kept for later
 * ones.
 */
function withoutRequest<T extends http.ClientRequestArgs>(options: T): T {
  return { ...options, headers: undefined, auth: undefined };
}

/** Gives each request an unused connection and closes it afterwards. */
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
  /** Shared by all connections: by default Node creates one for each, which was over a quarter of the opening time. */
  readonly #context: () => SecureContext;

  /** @param tls TLS options of the connections, beside Node's defaults */
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
