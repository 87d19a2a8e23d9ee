import fs from 'node:fs';
import prettier from 'prettier';
import ts from 'typescript';
import { docstring } from './docstring.mjs';
import { optionRules } from './option-docs.mjs';

/** @import { Declaration, Property } from './docstring.mjs' */
/** @import { Rule, Rules } from './option-docs.mjs' */

/**
 * The exported interfaces and classes of files as Markdown: a section each, with a table of the properties and their
 * docstrings. First those that no other one refers to: the way in. `rules`, by the name of an interface, say what its options
 * take.
 * @param {readonly string[]} files
 * @param {string} column
 * @param {Readonly<Record<string, Rules>>} [rules]
 */
export async function docstringTables(files, column, rules = {}) {
  const statements = files.flatMap((file) => [...parse(file).statements]);
  const types = statements.filter(isDeclaration);
  const documented = types.filter((each) => docstring(each) !== '' && !isMap(each));
  const names = documented.map(({ name }) => name.text);
  const ruled = optionRules(types, rules);
  /** @param {string} name */
  const referred = (name) => documented.some((each) => each.name.text !== name && each.getText().includes(name));
  const sorted = documented.toSorted((a, b) => Number(referred(a.name.text)) - Number(referred(b.name.text)));
  const sections = sorted.map((each) => section(each, names, column, ruled));
  return prettier.format(sections.join('\n\n'), {
    ...(await prettier.resolveConfig(files[0] ?? '')),
    parser: 'markdown',
  });
}

/**
 * @param {ts.Statement} node
 * @returns {node is Declaration}
 */
const isDeclaration = (node) => ts.isInterfaceDeclaration(node) || (ts.isClassDeclaration(node) && Boolean(node.name));

/** @param {string} file */
const parse = (file) => ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

/**
 * @param {Declaration} declaration
 * @param {string[]} names
 * @param {string} column
 * @param {Map<ts.Node, Rule>} ruled
 */
function section(declaration, names, column, ruled) {
  const rows = groupsOf(propertiesOf(declaration)).map((group) => {
    const cells = group.map((member) => `\`${member.name.getText()}${member.questionToken ? '?' : ''}\``);
    const types = [...new Set(group.map((member) => ruled.get(member)?.takes ?? typeCell(member, names)))];
    return `| ${cells.join(', ')} | ${types.join(', ')} | ${cell(docstring(group[0]))} |`;
  });
  const [base] = (declaration.heritageClauses ?? []).flatMap(({ types }) => types.map((type) => type.getText()));
  return [
    `### ${declaration.name.text}`,
    docstring(declaration),
    ...(base ? [`Has all that [\`${base}\`](#${base.toLowerCase()}) has${rows.length > 0 ? ', and:' : '.'}`] : []),
    ...(rows.length > 0 ? [[`| ${column} | type | meaning |`, '| --- | --- | --- |', ...rows].join('\n')] : []),
  ].join('\n\n');
}

/** @param {Declaration} declaration */
function propertiesOf({ members }) {
  /** @type {(member: ts.Node) => member is Property} A name of an event is initialised, and known. */
  const isProperty = (member) =>
    ts.isPropertySignature(member) || (ts.isPropertyDeclaration(member) && member.initializer === undefined);
  return [...members].filter(isProperty);
}

/**
 * Names of events to their classes: nothing that a reader sees as an object.
 * @param {Declaration} declaration
 */
const isMap = (declaration) => declaration.members.some(({ name }) => name && ts.isStringLiteral(name));

/**
 * A property without a docstring shares that of the one before it, unless its type has a section of its own.
 * @param {Property[]} members
 */
function groupsOf(members) {
  /** @type {[Property, ...Property[]][]} */
  const groups = [];
  for (const member of members) {
    const last = groups.at(-1);
    if (!last || docstring(member) !== '' || ts.isTypeReferenceNode(member.type)) groups.push([member]);
    else last.push(member);
  }
  return groups;
}

/**
 * @param {Property} property
 * @param {string[]} names
 */
function typeCell({ type }, names) {
  const text = type.getText().replaceAll(/\s+/g, ' ');
  const linked = names.find((name) => new RegExp(`\\b${name}\\b`).test(text));
  const code = `\`${text.replaceAll('|', '\\|')}\``;
  return linked ? `[${code}](#${linked.toLowerCase()})` : code;
}

/** @param {string} text */
const cell = (text) => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
