import type { LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiRefusal } from './api/answers.js';
import { ApiGateway } from './api/api-gateway.js';
import { createRequestFilter } from './api/front-door.js';
import { PaymentSandbox } from './console/payment-sandbox.js';
import type { PaymentSandboxOptions } from './model/options.js';
import { PaymentSandboxModule } from './payment-sandbox.module.js';

export interface StartOptions extends PaymentSandboxOptions {
  /** Port to listen on. Default 0: any free one. */
  port?: number;
  /**
   * Address to listen on. Default `127.0.0.1`. With `0.0.0.0`, anyone who reaches the port can use the API and the
   * payer's pages; the control interface and the console still answer this machine only, unless `controlHosts` says
   * otherwise.
   */
  host?: string;
  /** Nest's log levels. Default: warnings and errors. */
  logger?: LogLevel[] | false;
}

interface HttpParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** What Node.js answers to these errors by default. */
const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
/** The first byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16;

/** A running sandbox. */
export interface RunningSandbox {
  /** Its address, without a trailing slash: the service's `{base_url}` and `{pay_url}`. */
  url: string;
  sandbox: PaymentSandbox;
  /** Stops listening and sending, and aborts what is in flight. */
  close: () => Promise<void>;
}

/**
 * Starts a sandbox within this process, by default in memory and on a free port of 127.0.0.1: for tests.
 *
 * @example
 * const { url, sandbox, close } = await startPaymentSandbox({ shops: { main: { apiToken: 'token', resultUrl } } });
 */
export async function startPaymentSandbox(options: StartOptions = {}): Promise<RunningSandbox> {
  const { port = 0, host = '127.0.0.1', logger = ['warn', 'error', 'fatal'], ...settings } = options;
  const nestOptions = { bodyParser: false, forceCloseConnections: true, abortOnError: false, logger };
  const app = await NestFactory.create(PaymentSandboxModule.forRoot(settings), nestOptions);
  try {
    const gateway = app.get(ApiGateway);
    app.use(createRequestFilter(gateway));
    (app.getHttpServer() as Server).on('clientError', (error: HttpParseError, socket) => {
      const isTls = error.rawPacket?.[0] === TLS_HANDSHAKE;
      if (isTls) gateway.refuseTls();
      const status = STATUSES[error.code ?? ''] ?? '400 Bad Request';
      const isRawAddress = error.code === 'HPE_INVALID_URL' && !isTls;
      const { body } = isRawAddress
        ? gateway.refuseRawAddress(methodOf(error))
        : new ApiRefusal(parseInt(status), status.replace(/^\d+ /, '')).answer;
      // An answer can be sent only if nothing has been sent on this connection before.
      const mayAnswer =
        !isTls && socket.writable && error.code !== 'ECONNRESET' && (socket as Socket).bytesWritten === 0;
      const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n`;
      if (mayAnswer) socket.end(head + body, () => socket.destroy());
      else socket.destroy();
    });
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = (app.getHttpServer() as Server).address() as AddressInfo;
  return {
    url: `http://${reachableHost(host)}:${address.port}`,
    sandbox: app.get(PaymentSandbox),
    close: () => app.close(),
  };
}

function methodOf({ rawPacket }: HttpParseError): string {
  return /^[A-Z]+(?= )/.exec(rawPacket?.toString('latin1') ?? '')?.[0] ?? 'HTTP';
}

function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
