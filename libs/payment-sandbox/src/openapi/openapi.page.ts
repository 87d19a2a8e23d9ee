import { type Html, html } from '../common/html.js';
import type { Page } from '../common/page.js';
import type { Schema } from '../common/schema.js';
import { SERVICE_SCHEMAS } from '../api/schemas.js';
import { consolePage } from '../console/pages/layout.js';
import { CONTROL_SCHEMAS } from '../console/schemas.js';
import type { Operation } from './document.js';

const SCHEMAS: Readonly<Record<string, Schema>> = { ...SERVICE_SCHEMAS, ...CONTROL_SCHEMAS };

/** The OpenAPI document, for people. */
export function openApiPage(operations: readonly Operation[]): Page {
  return consolePage({
    title: 'Interface',
    place: 'interface',
    lead: html`The API of the service, and the control interface of this sandbox, as
      <a href="/sandbox/openapi.json">an OpenAPI document</a> for generators and other programs.`,
    content: html`${section(
        'service',
        'The service',
        operations.filter(({ isService }) => isService),
      )}
      ${section(
        'control',
        'The control interface',
        operations.filter(({ isService }) => !isService),
      )}
      <section class="card" aria-labelledby="objects">
        <h2 id="objects">Objects</h2>
        ${Object.entries(SCHEMAS).map(objectEntry)}
      </section>`,
  });
}

function section(id: string, title: string, operations: readonly Operation[]): Html {
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${operations.map(operationEntry)}
  </section>`;
}

function operationEntry({ id, method, path, summary, section: of, query = {}, body, answers }: Operation): Html {
  const term = (name: string, schema: Schema | undefined, note: string | undefined): Html =>
    html`<dt>${name}</dt>
      <dd>${schema && typeName(schema)} ${note !== undefined && html`<span class="note">${note}</span>`}</dd>`;
  const terms = [
    ...Object.entries(query).map(([name, { description }]) => term(`?${name}`, undefined, description)),
    ...(body ? [term('Body', body.schema, body.types?.join(', '))] : []),
    ...Object.entries(answers).map(([status, { description, schema }]) => term(status, schema, description)),
  ];
  return html`<div id="operation-${id}">
    <p><code>${method.toUpperCase()} ${path}</code></p>
    <p>${summary}${of !== undefined && html` <span class="note">section ${of}</span>`}</p>
    <dl class="facts">${terms}</dl>
  </div>`;
}

function objectEntry([name, schema]: [string, Schema]): Html {
  return html`<details id="object-${name}">
    <summary>${name}</summary>
    ${fields(schema)}
  </details>`;
}

/** No white space between the rows: there are many of them. */
function fields({ description, properties = {} }: Schema): Html {
  const rows = Object.entries(properties as Record<string, Schema>).map(([name, schema]) => {
    const note = typeof schema['description'] === 'string' && html` <span class="note">${schema['description']}</span>`;
    return html`<dt>${name}</dt>
      <dd>${typeName(schema)}${note}</dd>`;
  });
  return html`${typeof description === 'string' && html`<p class="note">${description}</p>`}
    <dl class="facts">${rows}</dl>`;
}

/** A schema in a few words, with links to those that have a name. */
function typeName(schema: Schema): Html {
  const { $ref, type, items, anyOf, properties } = schema as {
    $ref?: string;
    type?: string | string[];
    items?: Schema;
    anyOf?: Schema[];
    properties?: Record<string, Schema>;
  };
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return html`<a href="#object-${name}">${name}</a>`;
  }
  if (items) return html`list of ${typeName(items)}`;
  if (anyOf) return html`${anyOf.map((each, index) => html`${index > 0 && ' or '}${typeName(each)}`)}`;
  const values = 'const' in schema ? [schema['const']] : (schema['enum'] as unknown[] | undefined);
  if (values) return html`<code>${values.map((value) => JSON.stringify(value)).join(', ')}</code>`;
  if (properties) return html`{ ${Object.keys(properties).join(', ')} }`;
  return html`${[type ?? 'anything'].flat().join(' or ')}`;
}
