import type { LogLine } from '../model/log-line.js';

/** Shows the local time: `18:20:31 POST bill/create demo-main order-1: 200`. */
export function formatLine({ at, text, problem }: LogLine): string {
  const time = new Date(at);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0'));
  return `${clock.join(':')} ${problem ? '! ' : '  '}${text}\n`;
}
