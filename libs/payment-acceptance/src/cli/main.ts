#!/usr/bin/env node
import { start } from './start.js';

// A reader that closes the pipe early, such as `head`, must not abort the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// Standard output is for the result: what the host's files print, such as the banner of a dotenv, goes to standard error.
const writeResult = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const output = {
  out: (text: string) => void writeResult(text),
  err: (text: string) => void process.stderr.write(text),
};
void start(process.argv.slice(2), process.env, output).then((code) => {
  // Exits explicitly, after everything is written: the host's files may have left something open, such as a pool.
  writeResult('', () => process.stderr.write('', () => process.exit(code)));
});
