// How much longer it takes to import the main entry than the packages that it depends on, each in a new process; the best
// of several runs. Measured in CPU time, so that a busy machine does not count.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

const NAME = 'nestjs-payment-acceptance';
const manifest = JSON.parse(fs.readFileSync(`node_modules/${NAME}/package.json`, 'utf8'));
const optional = manifest.peerDependenciesMeta ?? {};
const peers = Object.keys(manifest.peerDependencies).filter((peer) => !optional[peer]?.optional);

const times = Array.from({ length: 5 }, () => {
  const program = `
    const now = () => process.cpuUsage().user + process.cpuUsage().system;
    const t0 = now();
    ${peers.map((peer) => `await import('${peer}');`).join('\n')}
    const t1 = now();
    await import('${NAME}');
    console.log(JSON.stringify([t1 - t0, now() - t1]));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
});
const least = (index) => Math.min(...times.map((time) => time[index])) / 1000;
const [before, own] = [least(0), least(1)];
console.log(
  `importing it adds ${own.toFixed(0)} ms to the ${before.toFixed(0)} ms of its peers (${((100 * own) / before).toFixed(0)} %)`,
);
// A slow machine takes longer for all imports.
if (own > 60 && own / before > 0.15) process.exitCode = 1;
