import os from 'node:os';

/** Milliseconds that all processors of the machine have worked so far, whoever for. */
export function workedMs() {
  const times = os.cpus().flatMap(({ times: { idle: _idle, ...work } }) => Object.values(work));
  return times.reduce((sum, time) => sum + time, 0);
}
