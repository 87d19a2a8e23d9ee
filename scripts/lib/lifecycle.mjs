import { constants } from 'node:os';

/** A failure whose message is all that a user needs: printed without a stack. */
export class CommandError extends Error {
  /** @param {string} message */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** @type {(() => unknown)[]} */
const stops = [];
/** @type {Promise<never> | undefined} */
let exiting;

/**
 * Registers what must be stopped before this process ends, however it ends. The last registered is stopped first.
 * @param {() => unknown} stop
 */
export function beforeExit(stop) {
  stops.push(stop);
}

/**
 * Stops everything that was registered and ends the process. Only the first call counts: Ctrl-C arrives twice.
 * @param {number} code
 */
export function exit(code) {
  exiting ??= (async () => {
    for (let stop = stops.pop(); stop; stop = stops.pop()) {
      await Promise.resolve()
        .then(stop)
        .catch((error) => console.error(error));
    }
    process.exit(code);
  })();
  return exiting;
}

export function isExiting() {
  return exiting !== undefined;
}

/**
 * Runs a command. `main` returns its exit code, or nothing where it has started servers that should go on.
 * `signalCode`: the exit code after a signal; a server that is asked to stop and does has not failed.
 * @param {() => Promise<number | void> | number} main
 * @param {{ signalCode?: number }} [options]
 */
export async function command(main, { signalCode } = {}) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => void exit(signalCode ?? 128 + constants.signals[signal]));
  }
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  // A closed terminal must not keep the rest from being stopped.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  stopWithNpm();

  try {
    const code = await main();
    if (code !== undefined) await exit(code);
  } catch (error) {
    await fail(error);
  }
}

/** @param {unknown} error */
function fail(error) {
  if (exiting) return exiting; // what fails while everything stops fails because of that
  console.error(error instanceof CommandError ? error.message : error);
  return exit(error instanceof CommandError ? error.exitCode : 1);
}

/** npm forwards signals, but not its own sudden death. Without npm between, the shell may go and we stay. */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  setInterval(() => process.ppid !== npm && void exit(1), 500).unref();
}
