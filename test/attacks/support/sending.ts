import { connect } from 'node:net';

/** Fields of a form, in order; a name may come more than once. */
export type FormFields = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** A form-encoded POST, as the payer's browser sends it. */
export function sendForm(url: string, fields: FormFields): Promise<Response> {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields as Record<string, string>);
  const body = new URLSearchParams(pairs.map(([name, value]) => [name, value] as [string, string]));
  return fetch(url, { method: 'POST', body, redirect: 'manual' });
}

/** A POST of exactly these bytes under this content type; without one, none is sent. */
export function sendBytes(
  url: string,
  body: string | Uint8Array,
  contentType?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    // A text would get a content type of its own.
    body: new Uint8Array(Buffer.from(body)),
    headers: { ...headers, ...(contentType !== undefined && { 'content-type': contentType }) },
    redirect: 'manual',
  });
}

/**
 * Writes these bytes on a connection of its own, request lines and all, and returns what comes back until the server
 * hangs up: let the last request say `Connection: close`. A server that does not hang up fails it after ten seconds.
 */
export function sendRaw(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const answer = () => Buffer.concat(chunks).toString('latin1');
    const socket = connect(Number(port), hostname);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // What came before a reset counts.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(answer()));
    socket.setTimeout(10_000, () => {
      reject(new Error(`The server did not hang up. It had said: ${answer().slice(0, 500)}`));
      socket.destroy();
    });
    socket.write(bytes);
  });
}
