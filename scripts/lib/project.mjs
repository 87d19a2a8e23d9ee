import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder, whatever folder a command was started in. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** What the commands keep between runs: the database, the sandbox's state, locks. Git-ignored. */
export const dataFolder = path.join(root, '.data');
