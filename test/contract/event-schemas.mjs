import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { docstring } from '../../scripts/lib/docstring.mjs';
import { root } from '../../scripts/lib/project.mjs';

/** @import { Declaration, Property } from '../../scripts/lib/docstring.mjs' */

/**
 * The part of JSON Schema that the events need.
 *
 * @typedef {object} Schema
 * @property {string} [$schema]
 * @property {string} [title]
 * @property {string} [description]
 * @property {string | string[]} [type]
 * @property {string | number} [const]
 * @property {string[]} [enum]
 * @property {string[]} [examples] Of an open set: the values known today. Others may come.
 * @property {string} [pattern]
 * @property {string} [format]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 */

/** The classes of the events, by the name of the event. */
const EVENTS = {
  'payment.succeeded': 'PaymentSucceededEvent',
  'payment.failed': 'PaymentFailedEvent',
  'payment.review': 'PaymentReviewEvent',
  'bill.expired': 'BillExpiredEvent',
};

/** The sources that declare the events, the envelope, and every type that they name. */
const SOURCES = [
  'domain/bill.ts',
  'domain/money.ts',
  'domain/payment.ts',
  'domain/payment-events.ts',
  'brokers/cloud-event.ts',
];

/** What TypeScript calls a string, and a reader may rely on: by the name of the type, and by that of the property. */
const TYPE_RULES = new Map([['DecimalAmount', { pattern: '^-?[0-9]+\\.[0-9]{2}$' }]]);
const PROPERTY_RULES = new Map([
  ['id', { format: 'uuid' }],
  ['occurredAt', { format: 'date-time' }],
  ['time', { format: 'date-time' }],
  ['source', { format: 'uri-reference' }],
]);

/** Draft 7: the dialect of AsyncAPI, and the one that validators of every language read. */
const DIALECT = 'http://json-schema.org/draft-07/schema#';

/**
 * The JSON Schemas of the events and of their envelope, by name, made from the types. A schema allows further properties:
 * a later release may add some.
 *
 * @returns {Record<string, Schema>}
 */
export function eventSchemas() {
  const types = new Types(SOURCES.map((source) => path.join(root, 'libs/payment-acceptance/src', source)));
  const schemas = Object.entries(EVENTS).map(([name, declaration]) => [name, types.objectSchema(declaration, name)]);
  return {
    ...Object.fromEntries(schemas),
    'cloud-event': types.objectSchema('PaymentCloudEventOf', 'cloud-event'),
  };
}

/** Exported for its test. */
export class Types {
  /** @type {Map<string, Declaration | ts.TypeAliasDeclaration>} */
  #declared = new Map();

  constructor(/** @type {string[]} */ files) {
    for (const file of files) {
      const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
      for (const node of source.statements) {
        if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
          this.#declared.set(node.name.text, node);
        else if (ts.isClassDeclaration(node) && node.name) {
          this.#declared.set(node.name.text, /** @type {Declaration} */ (node));
        }
      }
    }
  }

  /**
   * @param {string} declaration
   * @param {string} title
   * @returns {Schema}
   */
  objectSchema(declaration, title) {
    const node = this.#find(declaration);
    if (ts.isTypeAliasDeclaration(node)) throw new Error(`${declaration} is neither a class nor an interface.`);
    /** @type {Record<string, Schema>} */
    const properties = {};
    /** @type {string[]} */
    const required = [];
    this.#addProperties(node, properties, required);
    return { $schema: DIALECT, title, description: docstring(node), type: 'object', properties, required };
  }

  /**
   * Those of its base come first; one that is declared again takes the place of the base's.
   * @param {Declaration} node
   * @param {Record<string, Schema>} properties
   * @param {string[]} required
   */
  #addProperties(node, properties, required) {
    for (const { types } of node.heritageClauses ?? []) {
      for (const { expression } of types) {
        const base = this.#find(expression.getText());
        if (!ts.isTypeAliasDeclaration(base)) this.#addProperties(base, properties, required);
      }
    }
    let described = '';
    for (const member of node.members) {
      if (!ts.isPropertySignature(member) && !ts.isPropertyDeclaration(member)) continue;
      const name = member.name.getText();
      // Several properties in a row may share the docstring of the first, as in the tables of the documentation.
      described = docstring(/** @type {Property} */ (member)) || (properties[name]?.description ?? described);
      properties[name] = {
        description: described.replaceAll(/\s+/g, ' '),
        ...this.#propertySchema(member),
        ...PROPERTY_RULES.get(name),
      };
      if (!member.questionToken && !required.includes(name)) required.push(name);
    }
  }

  /**
   * @param {ts.PropertySignature | ts.PropertyDeclaration} member
   * @returns {Schema}
   */
  #propertySchema(member) {
    if (member.type) return this.#schema(member.type);
    const value = ts.isPropertyDeclaration(member) ? member.initializer : undefined;
    if (value && ts.isStringLiteral(value)) return { type: 'string', const: value.text };
    throw new Error(`${member.getText()}: its type has to be written down.`);
  }

  /**
   * @param {ts.TypeNode} node
   * @returns {Schema}
   */
  #schema(node) {
    if (node.kind === ts.SyntaxKind.StringKeyword) return { type: 'string' };
    if (node.kind === ts.SyntaxKind.BooleanKeyword) return { type: 'boolean' };
    // Money is a decimal string, so a number is always a count.
    if (node.kind === ts.SyntaxKind.NumberKeyword) return { type: 'integer' };
    if (ts.isParenthesizedTypeNode(node)) return this.#schema(node.type);
    if (ts.isIntersectionTypeNode(node) && node.types[0]) return this.#schema(node.types[0]);
    if (ts.isIndexedAccessTypeNode(node)) return { type: 'object' };
    if (ts.isLiteralTypeNode(node)) return literalSchema(node);
    if (ts.isUnionTypeNode(node)) return unionSchema(node.types.map((type) => this.#schema(type)));
    if (ts.isTypeReferenceNode(node)) return this.#referredSchema(node);
    throw new Error(`"${node.getText()}" has no schema: test/contract/event-schemas.mjs knows no such type.`);
  }

  /**
   * @param {ts.TypeReferenceNode} node
   * @returns {Schema}
   */
  #referredSchema(node) {
    const name = node.typeName.getText();
    const parameter = parameterOf(node, name);
    if (parameter?.constraint) {
      // Which name it stands for differs from event to event, and a later release may add events.
      const { type, enum: examples } = this.#schema(parameter.constraint);
      return { type, examples };
    }
    const declared = this.#find(name);
    if (!ts.isTypeAliasDeclaration(declared)) throw new Error(`${name} is an object: events are flat.`);
    return { ...this.#schema(declared.type), ...TYPE_RULES.get(name) };
  }

  #find(/** @type {string} */ name) {
    const declared = this.#declared.get(name);
    if (!declared) throw new Error(`${name} is not declared in ${SOURCES.join(', ')}: add its file to SOURCES.`);
    return declared;
  }
}

/**
 * @param {ts.LiteralTypeNode} node
 * @returns {Schema}
 */
function literalSchema({ literal }) {
  if (literal.kind === ts.SyntaxKind.NullKeyword) return { type: 'null' };
  if (ts.isStringLiteral(literal)) return { type: 'string', const: literal.text };
  if (ts.isNumericLiteral(literal)) return { type: 'integer', const: Number(literal.text) };
  throw new Error(`"${literal.getText()}" has no schema.`);
}

/**
 * Literals are an enumeration; with `string` among them it is open. `null` is one more type of a single other member.
 * @param {Schema[]} members
 * @returns {Schema}
 */
function unionSchema(members) {
  const literals = members.flatMap(({ const: value }) => (typeof value === 'string' ? [value] : []));
  const [first, ...others] = members.filter((each) => typeof each.const !== 'string');
  if (!first && literals.length > 0) return { type: 'string', enum: literals };
  if (first?.type === 'string' && others.length === 0) return { type: 'string', examples: literals };
  const isNullable = literals.length === 0 && others.length === 1 && others[0]?.type === 'null';
  if (isNullable && typeof first?.type === 'string' && !first.enum) return { ...first, type: [first.type, 'null'] };
  throw new Error(`A union of ${JSON.stringify(members)} has no schema: teach unionSchema what it is.`);
}

/** The type parameter of the declaration around a node. */
function parameterOf(/** @type {ts.Node} */ node, /** @type {string} */ name) {
  const around = ts.findAncestor(node, ts.isInterfaceDeclaration);
  return around?.typeParameters?.find((parameter) => parameter.name.text === name);
}
