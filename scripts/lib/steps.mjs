// Steps with their times: drawn as they go on where the output is a terminal, else a plain line each, once it is done.
const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 80;
const NAME_WIDTH = 36;
/** What a window of 80 columns has room for, beside the times. */
const LEAST_BAR_WIDTH = 9;
const MOST_BAR_WIDTH = 18;

const live = Boolean(process.stdout.isTTY) && process.env.TERM !== 'dumb';
const coloured = live && !process.env.NO_COLOR;

/**
 * @param {string} code
 * @returns {(text: string) => string}
 */
const paint = (code) => (text) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = paint('1');
const dim = paint('2');
const green = paint('32');
const red = paint('31');
const blue = paint('36');

export const say = (text = '') => process.stdout.write(`${text}\n`);

/** One after another, under one title. */
export class Steps {
  /**
   * Of each step: its name, how long it took, and what came of it.
   * @type {{ name: string; ms: number; detail: string }[]}
   */
  done = [];
  #start = performance.now();

  /** @param {string} title */
  constructor(title) {
    say(`\n${live ? ` ${blue('●')} ` : ''}${bold(title)}`);
  }

  get totalMs() {
    return performance.now() - this.#start;
  }

  /**
   * Does the work; what it resolves to is shown behind the step: `[detail, value]`. Gives the value.
   * @template {[detail: string, value?: unknown]} Result
   * @param {string} name
   * @param {() => Promise<Result>} work
   * @returns {Promise<Result[1]>}
   */
  async step(name, work) {
    const start = performance.now();
    const stop = this.#wait(name, start);
    try {
      const [detail, value] = await work();
      const ms = performance.now() - start;
      stop();
      this.done.push({ name, ms, detail });
      this.#tell(green('✔'), name, ms, detail);
      return value;
    } catch (error) {
      stop();
      this.#tell(red('✘'), name, performance.now() - start, 'failed');
      throw error;
    }
  }

  /**
   * @param {string} name
   * @param {number} start
   */
  #wait(name, start) {
    if (!live) return () => {};
    let frame = 0;
    const draw = () => {
      const sign = blue(FRAMES[frame++ % FRAMES.length] ?? '');
      process.stdout.write(
        `\r ${dim('│')} ${sign} ${name.padEnd(NAME_WIDTH)} ${ms(performance.now() - start)}\u001b[K`,
      );
    };
    draw();
    const timer = setInterval(draw, FRAME_MS);
    return () => {
      clearInterval(timer);
      process.stdout.write('\r\u001b[K');
    };
  }

  /**
   * @param {string} sign
   * @param {string} name
   * @param {number} took
   * @param {string} detail
   */
  #tell(sign, name, took, detail) {
    if (!live) {
      say(`  ${ms(took)}  (at ${ms(this.totalMs)})  ${name}: ${detail}`);
      return;
    }
    const room = Math.max(0, (process.stdout.columns || 80) - NAME_WIDTH - 18);
    const shown = detail.length > room ? `${detail.slice(0, Math.max(0, room - 1))}…` : detail;
    say(` ${dim('│')} ${sign} ${name.padEnd(NAME_WIDTH)} ${ms(took)}  ${dim(shown)}`);
  }
}

/**
 * The runs beside each other: how long each step took, with a bar where it is drawn, and how each ended.
 * @param {{ title: string; steps: Steps; totalMs: number; ended: string; right: boolean }[]} runs
 */
export function table(runs) {
  const longest = Math.max(...runs.flatMap(({ steps }) => steps.done.map((step) => step.ms)));
  const room = Math.floor((process.stdout.columns || 80) / 2) - 32;
  const barWidth = Math.min(MOST_BAR_WIDTH, Math.max(LEAST_BAR_WIDTH, room));
  const width = live ? 10 + barWidth : 24;
  /** @type {(name: string, cells: string[]) => string} */
  const line = (name, cells) =>
    `  ${name.padEnd(NAME_WIDTH)}  ${cells.map((cell) => fit(cell, width)).join('  ')}`.trimEnd();
  const rule = `  ${(live ? '─' : '-').repeat(NAME_WIDTH + runs.length * (width + 2))}`;
  const names = runs[0]?.steps.done.map(({ name }) => name) ?? [];
  say();
  say(
    bold(
      line(
        'Step',
        runs.map(({ title }) => title),
      ),
    ),
  );
  say(dim(rule));
  names.forEach((name, index) => {
    const cells = runs.map(({ steps }) => cell(steps.done[index]?.ms ?? 0, longest, barWidth));
    say(line(name, cells));
  });
  say(dim(rule));
  say(
    bold(
      line(
        'All of it',
        runs.map(({ totalMs }) => ms(totalMs)),
      ),
    ),
  );
  say(
    line(
      'The order ended',
      runs.map(({ ended, right }) => (right ? green : red)(`${ended}${live ? (right ? ' ✔' : ' ✘') : ''}`)),
    ),
  );
}

/**
 * @param {number} took
 * @param {number} longest
 * @param {number} barWidth
 */
function cell(took, longest, barWidth) {
  const eighths = Math.round((took / longest) * barWidth * 8);
  const bar = '█'.repeat(Math.floor(eighths / 8)) + ['', ...'▏▎▍▌▋▊▉'][eighths % 8];
  return live ? `${ms(took)} ${blue(bar)}` : ms(took);
}

/**
 * Padded to what is seen of it: colours take no room.
 * @param {string} text
 * @param {number} width
 */
function fit(text, width) {
  const seen = text.replace(/\u001b\[\d+m/g, '').length;
  return text + ' '.repeat(Math.max(0, width - seen));
}

/** @param {number} time */
function ms(time) {
  return `${time.toFixed(0).padStart(5)} ms`;
}
