import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';

/** @typedef {{ line: number; language: string; file: string | undefined; text: string }} CodeBlock */

/** The documents that users read, as paths from the project's folder. */
export function documents() {
  /** @param {string} folder */
  const below = (folder) =>
    fs
      .readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => path.posix.join(folder, file.replaceAll(path.sep, '/')));
  const libraries = fs.readdirSync(path.join(root, 'libs')).map((name) => `libs/${name}/README.md`);
  const examples = ['.', ...fs.readdirSync(path.join(root, 'examples'))]
    .map((name) => path.posix.join('examples', name, 'README.md'))
    .filter((file) => fs.existsSync(path.join(root, file)));
  const top = fs.readdirSync(root).filter((file) => file.endsWith('.md'));
  return [
    ...top,
    ...below('docs'),
    ...examples,
    ...libraries.filter((file) => fs.existsSync(path.join(root, file))),
  ].sort();
}

/**
 * The fenced blocks of a document. A block whose first line is a comment with a path,
 * as in `// src/app.module.ts`, is that file of the reader's application, which later blocks may import.
 * @param {string} markdown
 */
export function codeBlocks(markdown) {
  /** @type {CodeBlock[]} */
  const blocks = [];
  /** @type {{ line: number; indent: number; fence: string; language: string; lines: string[] } | undefined} */
  let open;
  for (const [index, line] of markdown.split('\n').entries()) {
    const [, indent = '', fence, language = ''] = /^( *)(`{3,})(\w*)/.exec(line) ?? [];
    if (open === undefined && fence) {
      open = { line: index + 2, indent: indent.length, fence, language, lines: [] };
    } else if (open && line.trim() === open.fence) {
      const { line: start, language, lines } = open;
      const file = /^(?:\/\/|#) ([\w./-]+\.(?:ts|js|mjs|json|env))$/.exec(lines[0] ?? '')?.[1];
      blocks.push({ line: start, language, file, text: lines.join('\n') });
      open = undefined;
    } else {
      open?.lines.push(line.slice(open.indent));
    }
  }
  return blocks;
}

/**
 * The targets of a document's links to files, without those inside code.
 * @param {string} markdown
 */
export function fileLinks(markdown) {
  /** @type {{ line: number; target: string; anchor: string | undefined }[]} */
  const links = [];
  let fenced = false;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (/^ *`{3}/.test(line)) fenced = !fenced;
    if (fenced) continue;
    for (const [, address = ''] of line.replace(/`[^`]*`/g, '``').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(address)) continue;
      const [target = '', anchor] = address.split('#');
      links.push({ line: index + 1, target, anchor });
    }
  }
  return links;
}

/**
 * The anchors that a document's headings have, as GitHub makes them.
 * @param {string} markdown
 */
export function anchors(markdown) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return markdown
    .split('\n')
    .filter((line) => /^#{1,6} /.test(line))
    .map((line) => {
      const text = line.replace(/^#+ /, '').toLowerCase();
      const slug = text.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    });
}
