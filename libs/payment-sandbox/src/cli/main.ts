#!/usr/bin/env node
import { runSandbox } from './program.js';

runSandbox({ args: process.argv.slice(2), env: process.env });
