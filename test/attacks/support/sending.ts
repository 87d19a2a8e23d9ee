import { connect } from 'node:net';

/** Fields of a form, in order; a name may be repeated. */
export type FormFields = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** A form-encoded POST, like that of a payer's browser. */
export function sendForm(url: string, fields: FormFields): Promise<Response> {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields as Record<string, string>);
  const body = new URLSearchParams(pairs.map(([name, value]) => [name, value] as [string, string]));
  return fetch(url, { method: 'POST', body, redirect: 'manual' });
}

/** A POST of exactly these bytes, with this content type or none. */
export function sendBytes(
  url: string,
  body: string | Uint8Array,
  contentType?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    // A string would get a default content type.
    body: new Uint8Array(Buffer.from(body)),
    headers: { ...headers, ...(contentType !== undefined && { 'content-type': contentType }) },
    redirect: 'manual',
  });
}

/**
 * Writes this raw HTTP on a new connection, and returns everything received until the server hangs up, so the last request
 * should say `Connection: close`. Rejects if the server has not hung up after ten seconds.
 */
export function sendRaw(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const answer = () => Buffer.concat(chunks).toString('latin1');
    const socket = connect(Number(port), hostname);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // Keep what was received before a reset.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(answer()));
    socket.setTimeout(10_000, () => {
      reject(new Error(`The server did not hang up. It sent: ${answer().slice(0, 500)}`));
      socket.destroy();
    });
    socket.write(bytes);
  });
}
