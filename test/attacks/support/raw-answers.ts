import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Recorder } from '../../support/recorder.js';

export type Answer = Parameters<Recorder['answer']>[0];

/** An answer that writes directly to the socket. */
export const raw =
  (write: (socket: Socket) => void): Answer =>
  ({ socket }: IncomingMessage) => {
    socket.on('error', () => undefined);
    write(socket);
  };
/** Sends a piece every 5 ms, without end. */
export const drip = (head: string, piece: () => string): Answer =>
  raw((socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece()), 5);
    socket.on('close', () => clearInterval(timer));
  });
/** Sends as much as the socket accepts, without end; `sent` counts the bytes. */
export const pour = (head: string, piece: Buffer, sent: { bytes: number }): Answer =>
  raw((socket) => {
    socket.write(head);
    const more = (): void => {
      while (!socket.destroyed) {
        sent.bytes += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('drain', more);
    more();
  });
