import { definitions, type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { ReceivedRequest } from '../../storage/request-log.js';
import { consolePage, copyable, linkSetting, table, tag, time, type Tone } from './layout.js';

export interface RequestsView {
  /** Newest first. */
  requests: readonly ReceivedRequest[];
  problems: boolean;
  /** The address of the older requests; null if there are none. */
  older: string | null;
  /** The address of the sandbox, as the browser knows it. */
  address: string;
}

export function requestsPage({ requests, problems, older, address }: RequestsView): Page {
  const heads = ['Request', 'Answer', 'Shop', 'What was wrong', 'Received'];
  const nothing = problems
    ? html`<p>None of the stored requests has a problem.</p>`
    : html`<p>
        None yet. The API is at <code>${address}/api/v1</code>; the base address for clients is <code>${address}</code>.
      </p>`;
  return consolePage({
    title: 'Requests',
    place: 'requests',
    lead: 'Requests to the API, newest first, including refused ones and those to addresses outside the interface. The last 500 are kept.',
    content: html`<section class="card">
      <p>
        ${problems ? html`<a href="/sandbox/console/requests">All requests</a>` : html`<a href="/sandbox/console/requests?problems">Only requests with problems</a>`}
      </p>
      ${requests.length > 0 ? table('Requests', heads, requests.map(row)) : nothing}
      ${older !== null && html`<p><a href="${older}">Older requests</a></p>`}
    </section>`,
  });
}

function row(request: ReceivedRequest): Html {
  const { id, at, orderId, billId, shopId, problem, remark } = request;
  return html`<tr id="request-${id}">
    <td>
      <a href="/sandbox/console/requests/${id}">${nameOf(request)}</a><br /><span class="note"
        >${orderId || billId || ''}</span
      >
    </td>
    <td>${answerTag(request)}</td>
    <td>${shopId ?? 'none'}</td>
    <td>${linkSetting(problem ?? remark ?? '', shopId)}</td>
    <td class="note">${time(at)}</td>
  </tr> `;
}

export function requestPage(request: ReceivedRequest, address: string): Page {
  const { id, at, method, headers, shopId, billId, orderId, answer, durationMs, problem, remark } = request;
  const isCut = Buffer.byteLength(request.body) < request.bodyBytes;
  const finding = problem ?? remark;
  return consolePage({
    title: nameOf(request),
    place: 'requests',
    tag: answerTag(request),
    ...(finding !== null && { message: { tone: problem ? 'bad' : 'warn', text: linkSetting(finding, shopId) } }),
    content: html`<section class="card" aria-labelledby="about">
        <h2 id="about">Request ${id}</h2>
        ${definitions('facts', [
          ['Received', html`${time(at, true)}${durationMs !== null && html`, answered in ${durationMs} ms`}`],
          ['Shop', shopId ?? 'none: no shop’s token was recognised'],
          ['Order', orderId],
          ['Bill', billId && html`<a href="/sandbox/console/bills/${billId}">${billId}</a>`],
        ])}
      </section>
      <section class="card" aria-labelledby="sent">
        <h2 id="sent">As sent</h2>
        <pre tabindex="0">
${method} ${request.address}
${headers.map(({ name, value }) => `${name}: ${value}`).join('\n')}

${request.body}</pre>
        ${isCut && html`<p class="note">Cut off: ${request.bodyBytes} bytes in total.</p>`}
        <p class="note">Tokens are cut to their first characters.</p>
      </section>
      <section class="card" aria-labelledby="answered">
        <h2 id="answered">As answered</h2>
        <pre tabindex="0">
${answer === null ? 'No answer: the connection was reset, or the request is in progress.' : `${request.status ?? ''}\n\n${answer}`}</pre>
      </section>
      <section class="card" aria-labelledby="again">
        <h2 id="again">As a command</h2>
        ${copyable('curl', curlOf(request, address))}
        <p class="note">First set <code>API_TOKEN</code> to the shop’s token.</p>
      </section>`,
  });
}

function nameOf({ operation, method, address }: ReceivedRequest): string {
  return operation === null ? `${method} ${address.slice(0, 100)}` : `${method} bill/${operation}`;
}

function answerTag({ status, durationMs, problem }: ReceivedRequest): Html {
  const tone: Tone = problem !== null ? 'bad' : status === 200 ? 'good' : 'warn';
  return tag(status === null ? (durationMs === null ? 'in progress' : 'no answer') : String(status), tone);
}

/** Headers that curl sets itself, or that belong to one connection. */
const OMITTED_HEADER_PATTERN =
  /^(?:host|content-length|connection|accept-encoding|transfer-encoding|expect|authorization)$/i;

/**
 * The token is the variable API_TOKEN, because only its first characters are kept. A multipart body is given part by
 * part.
 * @param address of the sandbox
 */
function curlOf(request: ReceivedRequest, address: string): string {
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
