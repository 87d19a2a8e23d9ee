// An error of the module names a file and a line: of what is published, and with --enable-source-maps of the sources, whose
// text is in the source maps. There stands the statement that has thrown it, whichever door was taken.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const NAME = 'nestjs-payment-acceptance';
const doors = {
  import: `import { migratePaymentAcceptance } from '${NAME}';`,
  require: `import { createRequire } from 'node:module';
    const { migratePaymentAcceptance } = createRequire('${process.cwd()}/x.cjs')('${NAME}');`,
};

for (const door of Object.values(doors)) {
  const published = thrownAt(door);
  assert.match(published.file, /\/dist\/code\/[\w-]+\.cjs$/);
  assertThrows(fs.readFileSync(published.file, 'utf8'), published);

  const source = thrownAt(door, '--enable-source-maps');
  assert.match(source.file, /\/src\/.*\.ts$/);
  const { sources, sourcesContent } = JSON.parse(fs.readFileSync(`${published.file}.map`, 'utf8'));
  const here = path.dirname(published.file);
  assertThrows(sourcesContent[sources.findIndex((each) => path.join(here, each) === source.file)], source);
}

/** Where an error says that it was thrown. */
function thrownAt(door, ...options) {
  const program = `import 'reflect-metadata';
    ${door}
    await migratePaymentAcceptance({ options: { type: 'sqljs' }, driver: {} }).catch(({ stack }) => console.log(stack));`;
  const args = [...options, '--input-type=module', '-e', program];
  const stack = execFileSync(process.execPath, args, { encoding: 'utf8' });
  const [, file, line] = /^ +at openBeside \((.*):(\d+):\d+\)$/m.exec(stack) ?? assert.fail(stack);
  return { file, line: Number(line) };
}

function assertThrows(text, { file, line }) {
  const statement = text.split('\n')[line - 1].trim();
  assert.match(
    statement,
    /^(if .*)?throw new (\w+\.)?PaymentUnsupportedDataSourceError\(.*\);$/,
    `${file}:${line}: ${statement}`,
  );
}
