import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { libraries, manifestIn } from '../manifest.mjs';

/** @import { Manifest } from '../manifest.mjs' */

/** @typedef {{ folder: string, manifest: Manifest }} Library */

/** What has to be put right before the packages of a repository can be released, a sentence each. */
export function problemsOf(/** @type {string} */ base) {
  const all = libraries(base).map((folder) => ({
    folder: path.relative(base, folder),
    manifest: manifestIn(folder),
  }));
  const { version } = manifestIn(base);
  return [
    ...treeProblems(base),
    ...all.flatMap((library) => [
      ...versionProblems(library, version, all),
      ...provenanceProblems(library),
      ...contractProblems(base, library),
    ]),
    ...changelogProblems(base, version),
    ...contactProblems(base),
  ];
}

function treeProblems(/** @type {string} */ base) {
  const { status, stdout, stderr } = spawnSync('git', ['status', '--porcelain'], { cwd: base, encoding: 'utf8' });
  if (status !== 0) return [`git cannot say whether the tree is clean: ${stderr?.trim() || 'it did not run'}`];
  const changed = stdout.split('\n').filter(Boolean);
  return changed.length > 0 ? [`The tree is not clean. Commit or remove:\n${changed.join('\n')}`] : [];
}

function versionProblems(
  /** @type {Library} */ { folder, manifest },
  /** @type {string} */ version,
  /** @type {Library[]} */ all,
) {
  const problems = [];
  if (manifest.version !== version) {
    problems.push(`${folder}/package.json says version ${manifest.version}, package.json ${version}.`);
  }
  for (const { name } of all.map((library) => library.manifest)) {
    const range = manifest.peerDependencies?.[name];
    if (range !== undefined && range !== `^${version}`) {
      problems.push(`${folder}/package.json takes ${name} ${range}; it is tested with ^${version} alone.`);
    }
  }
  return problems;
}

function changelogProblems(/** @type {string} */ base, /** @type {string} */ version) {
  const [, ...sections] = fs.readFileSync(path.join(base, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  const isEmpty = (/** @type {string} */ section) => section.split('\n').slice(1).join('').trim() === '';
  const problems = [];
  const released = sections.find((section) => section.startsWith(`[${version}]`));
  if (!released || isEmpty(released) || !/^\S+ - \d{4}-\d{2}-\d{2}\n/.test(released)) {
    problems.push(
      `CHANGELOG.md does not say what is in ${version}: it needs "## [${version}] - YYYY-MM-DD" and a text.`,
    );
  }
  if (sections.some((section) => section.startsWith('[Unreleased]') && !isEmpty(section))) {
    problems.push(
      `CHANGELOG.md still has something below "## [Unreleased]": it belongs to ${version}, or to no release.`,
    );
  }
  return problems;
}

function contactProblems(/** @type {string} */ base) {
  const text = fs.readFileSync(path.join(base, 'SECURITY.md'), 'utf8');
  return text.includes('NO ADDRESS YET')
    ? ['SECURITY.md names no address to report weaknesses to: put one in the place of "NO ADDRESS YET".']
    : [];
}

/** What later releases are held against: a release keeps the schemas of its events. */
function contractProblems(/** @type {string} */ base, /** @type {Library} */ { folder }) {
  const schemas = path.join(folder, 'schemas');
  if (!fs.existsSync(path.join(base, schemas))) return [];
  const { version } = JSON.parse(fs.readFileSync(path.join(base, schemas, 'bill.expired.json'), 'utf8')).properties;
  const kept = `etc/event-contract/${version.const}`;
  const isKept = (/** @type {string} */ name) => {
    const file = path.join(base, kept, name);
    return fs.existsSync(file) && fs.readFileSync(file).equals(fs.readFileSync(path.join(base, schemas, name)));
  };
  return fs.readdirSync(path.join(base, schemas)).every(isKept)
    ? []
    : [`${kept} is not what is released: mkdir -p ${kept} && cp ${schemas}/*.json ${kept}/, and commit it.`];
}

/** npm proves from which repository a package was built, and refuses one that says it is of another. */
function provenanceProblems(/** @type {Library} */ { folder, manifest }) {
  const file = `${folder}/package.json`;
  const problems = [];
  if (manifest.publishConfig?.provenance !== true || manifest.publishConfig.access !== 'public') {
    problems.push(`${file} needs "publishConfig": { "access": "public", "provenance": true }.`);
  }
  const { url = '', directory } = manifest.repository ?? {};
  if (!/^git\+https:\/\/\S+\.git$/.test(url) || directory !== folder) {
    problems.push(
      `${file} does not say where its sources are. Fill in the address of the public repository that CI releases from: ` +
        `"repository": { "type": "git", "url": "git+https://HOST/OWNER/REPOSITORY.git", "directory": "${folder}" }.`,
    );
  }
  return problems;
}
