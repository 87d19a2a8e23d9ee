import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isRecord } from '../common/objects.js';
import { parseBytes, readBytes, UnreadableBody } from './read-body.js';

/** The parts of requests of Express and Fastify that are used here. */
export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly url?: string;
  /** The message, on Fastify. */
  readonly raw?: IncomingMessage;
  body?: unknown;
  rawBody?: unknown;
}

/** How a callback was transmitted. */
export interface Transmission {
  /**
   * Length of the body in bytes, `Infinity` if it was not announced. Above 32,768 bytes, only the fields of the
   * specification are read and stored, without nested values (assumed): such a body is not the service's, and listing its
   * fields would take long. Default: everything is read.
   */
  readonly bytes?: number;
  /** `Content-Type` of the request: it gives the charset of a body in bytes, and is logged. Default: not known. */
  readonly contentType?: string;
}

export interface CallbackBody {
  readonly body: unknown;
  readonly sent: Transmission;
}

/** Reads the bodies of callbacks before the application's parsers do, and keeps them for the routes. */
@Injectable()
export class CallbackBodies {
  private readonly bodies = new WeakMap<object, CallbackBody>();
  private readonly takenRequests = new WeakSet<object>();

  /**
   * Also removes the headers that describe the body, so that no parser tries to read it again. Guards and interceptors
   * of the host find it in `body` and `rawBody`, as they would without this.
   */
  async read(request: ReceivedRequest, raw: IncomingMessage): Promise<void> {
    const { headers } = raw;
    // An older parser sets an empty object in place of a body that it leaves unread.
    const isUnread = request.body === undefined || (announcesBody(headers) && isEmptyObject(request.body));
    // Otherwise something else has read it, for example a platform that hands over requests in one piece.
    if (!isUnread || request.rawBody !== undefined || raw.readableDidRead || raw.destroyed) return;
    const contentType = headers['content-type'];
    const contentEncoding = headers['content-encoding'];
    const bytes = await readBytes(raw);
    if (bytes === undefined) return;
    for (const name of BODY_HEADERS) Reflect.deleteProperty(headers, name);
    if (bytes instanceof UnreadableBody) {
      this.bodies.set(raw, { body: bytes, sent: { contentType: contentType ?? 'none' } });
      return;
    }
    const parsed = await parseBytes(bytes, { contentType, contentEncoding });
    this.bodies.set(raw, { body: parsed.fields, sent: { bytes: parsed.bytes, contentType: contentType ?? 'none' } });
    request.rawBody = bytes;
    if (!(parsed.fields instanceof UnreadableBody)) request.body = parsed.fields;
  }

  /** Returns the body as we have read it, or else as the application has; `undefined` if it cannot be had. */
  async take(request: ReceivedRequest): Promise<CallbackBody | undefined> {
    const raw = messageOf(request);
    this.takenRequests.add(raw);
    // A body is not read on arrival if the address was not recognised, for example because its prefix has a parameter.
    if (request.rawBody === undefined && !raw.readableDidRead) await this.read(request, raw);
    const capturedBody = this.bodies.get(raw);
    if (capturedBody) return capturedBody;
    const { body = request.rawBody, headers } = request;
    const { 'content-length': length, 'content-encoding': encoding = 'identity', 'content-type': type } = headers;
    if (body === undefined && announcesBody(headers)) return undefined;
    // The length of a chunked or compressed body is not known.
    const bytes = length === undefined || encoding !== 'identity' ? Infinity : Number(length);
    return { body, sent: { bytes, contentType: type ?? 'none' } };
  }

  wasTaken(raw: IncomingMessage): boolean {
    return this.takenRequests.has(raw);
  }
}

function messageOf(request: ReceivedRequest): IncomingMessage {
  return request.raw ?? (request as IncomingMessage & ReceivedRequest);
}

function announcesBody(headers: IncomingHttpHeaders): boolean {
  return Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
}

export function isAborted(request: ReceivedRequest): boolean {
  const { destroyed, complete } = messageOf(request);
  return destroyed && !complete;
}

function isEmptyObject(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

const BODY_HEADERS = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding'] as const;
