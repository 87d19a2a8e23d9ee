import type { ReceivedRequest } from '../../storage/received-requests.js';

/** Headers that curl sets itself, or that belong to one connection. */
const OMITTED_HEADER_PATTERN =
  /^(?:host|content-length|connection|accept-encoding|transfer-encoding|expect|authorization)$/i;

/**
 * The token is the variable API_TOKEN, because only its first characters are kept. A multipart body is given part by
 * part.
 * @param address of the sandbox
 */
export function curlOf(request: ReceivedRequest, address: string): string {
  const { method, headers, body } = request;
  const parts = multipartFields(request);
  const lines = [`curl -X ${method} ${shellQuote(address + request.address)}`];
  if (headers.some(({ name, value }) => /^authorization$/i.test(name) && /^bearer /i.test(value))) {
    lines.push('-H "Authorization: Bearer $API_TOKEN"');
  }
  for (const { name, value } of headers) {
    if (OMITTED_HEADER_PATTERN.test(name) || (parts && /^content-type$/i.test(name))) continue;
    lines.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  }
  if (parts) for (const [name, value] of parts) lines.push(`--form-string ${shellQuote(`${name}=${value}`)}`);
  else if (body !== '') lines.push(`--data-raw ${shellQuote(body)}`);
  return lines.join(' \\\n  ');
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Undefined unless the body is multipart and was kept whole. */
function multipartFields({ headers, body, bodyBytes }: ReceivedRequest): [string, string][] | undefined {
  const type = headers.find(({ name }) => /^content-type$/i.test(name))?.value ?? '';
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(type)?.[1];
  if (boundary === undefined || Buffer.byteLength(body) < bodyBytes) return undefined;
  return body
    .split(`--${boundary}`)
    .slice(1, -1)
    .flatMap((part): [string, string][] => {
      const [head = '', ...rest] = part.split('\r\n\r\n');
      const name = /name="?([^";\r\n]+)/i.exec(head)?.[1];
      return name === undefined ? [] : [[name, rest.join('\r\n\r\n').replace(/\r\n$/, '')]];
    });
}
