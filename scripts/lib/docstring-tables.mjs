import fs from 'node:fs';
import prettier from 'prettier';
import ts from 'typescript';
import { docstring } from './docstring.mjs';
import { optionRules } from './option-docs.mjs';

/**
 * The exported interfaces and classes of files as Markdown: a section each, with a table of the properties and their
 * docstrings. First those that no other one refers to: the way in. `rules`, by the name of an interface, say what its options
 * take.
 */
export async function docstringTables(files, column, rules = {}) {
  const statements = files.flatMap((file) => [...parse(file).statements]);
  const types = statements.filter((each) => ts.isInterfaceDeclaration(each) || ts.isClassDeclaration(each));
  const documented = types.filter((each) => docstring(each) !== '' && !isMap(each));
  const names = documented.map(({ name }) => name.text);
  const ruled = optionRules(types, rules);
  const referred = (name) => documented.some((each) => each.name.text !== name && each.getText().includes(name));
  const sorted = [...names.filter((name) => !referred(name)), ...names.filter(referred)];
  const sections = sorted.map((name) => section(documented[names.indexOf(name)], names, column, ruled));
  return prettier.format(sections.join('\n\n'), { ...(await prettier.resolveConfig(files[0])), parser: 'markdown' });
}

const parse = (file) => ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

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

function propertiesOf({ members }) {
  const isProperty = (member) => ts.isPropertySignature(member) || ts.isPropertyDeclaration(member);
  return members.filter((member) => isProperty(member) && member.initializer === undefined); // a name of an event is known
}

/** Names of events to their classes: nothing that a reader sees as an object. */
const isMap = (declaration) => declaration.members.some(({ name }) => name && ts.isStringLiteral(name));

/** A property without a docstring shares that of the one before it, unless its type has a section of its own. */
function groupsOf(members) {
  const groups = [];
  for (const member of members) {
    const own = docstring(member) !== '' || groups.length === 0 || ts.isTypeReferenceNode(member.type);
    if (own) groups.push([member]);
    else groups.at(-1).push(member);
  }
  return groups;
}

function typeCell({ type }, names) {
  const text = type.getText().replaceAll(/\s+/g, ' ');
  const linked = names.find((name) => new RegExp(`\\b${name}\\b`).test(text));
  const code = `\`${text.replaceAll('|', '\\|')}\``;
  return linked ? `[${code}](#${linked.toLowerCase()})` : code;
}

const cell = (text) => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
