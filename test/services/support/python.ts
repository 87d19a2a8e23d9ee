import { spawnSync } from 'node:child_process';

/** Its own environment's Python first, then the one that Debian's packages are for. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/** A Python that has these modules; `undefined` where there is none. */
export function pythonWith(...modules: string[]): string | undefined {
  const imports = modules.map((name) => `import ${name}`).join('\n');
  return PYTHONS.find((python) => spawnSync(python, ['-c', imports], { stdio: 'ignore' }).status === 0);
}
