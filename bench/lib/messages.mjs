/*
 * Requests are written as they go over the wire, once for all, and of an answer only its status and its length are read:
 * on a machine with two cores, what the generator takes is missing where it is measured.
 */

/**
 * Requests by the module and the options that make them.
 * @type {Map<string, Buffer[]>}
 */
const made = new Map();

/** @typedef {{ module: string; options: object }} Requests a module of bench/ whose `bodies(options)` gives the JSON bodies */

/**
 * @param {URL} target
 * @param {Requests} requests
 */
export async function messagesFor(target, { module, options }) {
  const key = JSON.stringify([target.href, module, options]);
  let messages = made.get(key);
  if (!messages) {
    made.clear();
    const { bodies } = await import(new URL(`../${module}`, import.meta.url).href);
    /** @type {string[]} */
    const texts = await bodies(options);
    messages = texts.map((body) =>
      Buffer.from(
        `POST ${target.pathname} HTTP/1.1\r\nHost: ${target.host}\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: keep-alive\r\n\r\n${body}`,
      ),
    );
    made.set(key, messages);
  }
  return messages;
}

/**
 * Of the whole answer; `undefined` while its head is not complete.
 * @param {string} text
 */
export function lengthOf(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head));
  if (!length) throw new Error(`An answer without a length: ${text.slice(0, head)}`);
  return head + 4 + Number(length[1]);
}

/**
 * The status of an answer, as text.
 * @param {string} text
 */
export const statusOf = (text) => text.slice(9, 12);
