import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { databaseUser } from './database-user.mjs';
import { ourFolderIn, takeOver } from './folders.mjs';
import { CommandError } from './lifecycle.mjs';
import { dataFolder } from './project.mjs';

/*
 * The home of the lasting server is in .data/, or, where its user cannot get there (a project below /root, say), in a
 * place that .data/location names.
 */
const locationFile = path.join(dataFolder, 'location');
const insideProject = path.join(dataFolder, 'postgres');
/** Part of a home's name outside the project, so that a copied project does not take the original's for its own. */
const projectMark = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12);

/** The lasting server's home, if there is one yet. */
export function findLastingHome() {
  const noted = fs.existsSync(locationFile) ? fs.readFileSync(locationFile, 'utf8').trim() : '';
  const homes = [path.basename(noted).startsWith(projectMark) ? noted : undefined, insideProject];
  return homes.find((home) => home && fs.existsSync(home));
}

export function makeLastingHome() {
  const user = databaseUser();
  fs.mkdirSync(dataFolder, { recursive: true });
  fs.mkdirSync(insideProject, { mode: 0o700 });
  if (takeOver(insideProject, user)) return insideProject;

  fs.rmdirSync(insideProject);
  const parents = user ? ['/var/lib', '/var/tmp', os.tmpdir()] : [path.join(os.homedir(), '.local/share'), os.tmpdir()];
  const parent = ourFolderIn(parents, user);
  const home = parent && fs.mkdtempSync(path.join(parent, `${projectMark}-`));
  if (!home || !takeOver(home, user)) {
    throw new CommandError(`No folder for the database: tried ${dataFolder}, ${parents.join(', ')}. Set DATABASE_URL.`);
  }
  fs.writeFileSync(locationFile, `${home}\n`);
  return home;
}
