import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { stop, waitUntilAnswers } from '../../scripts/lib/children.mjs';
import { CommandError, isExiting } from '../../scripts/lib/lifecycle.mjs';

/** @import { Started } from '../../scripts/lib/children.mjs' */

/** A server that is started again whenever it ends, as an orchestrator does, until it is to end, or the command does. */
export class Supervised {
  isReady = false;
  kills = 0;
  freezes = 0;
  /**
   * Exit codes of a server that was up and ended although nobody killed it.
   * @type {number[]}
   */
  endedByItself = [];
  /** @type {Started | undefined} */
  #server;
  /** @type {Promise<void> | undefined} */
  #running;
  #wanted = false;
  #killed = false;
  #downMs = 0;

  /**
   * @param {string} name
   * @param {() => Started} start
   * @param {string} url answers once the server is up
   */
  constructor(name, start, url) {
    this.name = name;
    this.start = start;
    this.url = url;
  }

  /** Starts it, and waits until it is up. */
  async begin() {
    this.#wanted = true;
    this.#running = this.#keepRunning();
    await this.becomesReady(60);
  }

  /** Asks it to end, and waits until it has. It can begin again. */
  async end() {
    this.#wanted = false;
    if (this.#server) await stop(this.#server);
    await this.#running;
  }

  /**
   * kill -9, at whatever point it is, its start included. It comes back after the pause.
   * @param {number} downMs
   */
  kill(downMs) {
    if (!this.#server || this.#killed) return false;
    this.#killed = true;
    this.#downMs = downMs;
    this.kills += 1;
    this.#server.child.kill('SIGKILL');
    return true;
  }

  /**
   * Asks it to end: how many milliseconds it took. One that has not ended by then is killed. It comes back after the pause.
   * @param {{ withinS: number; downMs: number }} patience
   */
  async terminate({ withinS, downMs }) {
    const server = this.#server;
    if (!server || this.#killed)
      throw new CommandError(`The ${this.name} does not run, and so cannot be asked to end.`);
    this.#killed = true;
    this.#downMs = downMs;
    const started = Date.now();
    const timer = setTimeout(() => server.child.kill('SIGKILL'), withinS * 1000);
    server.child.kill('SIGTERM');
    await server.ended.finally(() => clearTimeout(timer));
    return Date.now() - started;
  }

  /**
   * Stands still and goes on, as in a long pause of its machine. A shell wakes it, which outlives whatever happens to us.
   * @param {number} seconds
   */
  freeze(seconds) {
    if (!this.isReady || !this.#server) return;
    this.freezes += 1;
    const script = 'kill -STOP "$1" && sleep "$2" && kill -CONT "$1"';
    const args = ['-c', script, 'sh', String(this.#server.child.pid), String(seconds)];
    spawn('/bin/sh', args, { detached: true, stdio: 'ignore' }).unref();
  }

  /** @param {number} seconds */
  async becomesReady(seconds) {
    for (const end = Date.now() + seconds * 1000; !this.isReady; await sleep(50)) {
      if (Date.now() > end) throw new CommandError(`The ${this.name} was not up within ${seconds} s.`);
    }
  }

  async #keepRunning() {
    while (this.#wanted && !isExiting()) {
      const server = this.start();
      this.#server = server;
      this.#killed = false;
      this.#downMs = 200;
      const up = waitUntilAnswers(server, this.url).then(
        () => (this.isReady = this.#server === server),
        () => false, // ended, or will be: its next start is tried
      );
      const code = await server.ended;
      this.#server = undefined;
      if (await up) {
        this.isReady = false;
        if (!this.#killed && this.#wanted && !isExiting()) this.endedByItself.push(code);
      }
      if (this.#wanted) await sleep(this.#downMs);
    }
  }
}
