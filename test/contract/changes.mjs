/** @import { Schema } from './event-schemas.mjs' */

/** What readers never depend on. `examples` are the known values of an open set: readers expect others. */
const ANNOTATIONS = ['$schema', 'title', 'description', 'examples'];

/**
 * What a change of the events' contract takes from those who read events, a sentence each; both sides are files by name, as
 * `contractFiles` gives them.
 *
 * Readers may rely on every field being as it was, and ignore what they do not know. So only a field that may be absent, an
 * event, or a channel can be added. A field may not even become narrower, or always present: events that an earlier
 * release has stored are still delivered, and would no longer be what the schema says. An enumeration is closed: readers
 * switch on it, so a further value is a change of the type. A set that has to grow is a string with examples.
 *
 * @param {Record<string, object>} before
 * @param {Record<string, object>} after
 * @returns {string[]}
 */
export function incompatibleChanges(before, after) {
  const [old, now] = [partsOf(before), partsOf(after)];
  return Object.entries(old).flatMap(([name, schema]) => {
    const present = now[name];
    return present ? changesOf(name, schema, present) : [`${name}: is gone, and its readers wait for it.`];
  });
}

/**
 * What can change on its own, as schemas of objects: each event, the envelope, and of each channel its address, its headers
 * and the properties of its messages.
 * @param {Record<string, object>} files
 * @returns {Record<string, Schema>}
 */
function partsOf({ 'asyncapi.json': asyncapi, ...schemas }) {
  const { channels = {}, components = {} } = /** @type {AsyncApi} */ (asyncapi ?? {});
  const addresses = Object.entries(channels).map(([id, { address }]) => [
    `channel ${id}`,
    { properties: { address: { const: address } }, required: ['address'] },
  ]);
  const messages = Object.entries(components.messages ?? {}).flatMap(([id, message]) => [
    [`headers of ${id}`, message.headers],
    [`properties of ${id}`, message['x-amqp-properties'] ?? {}],
  ]);
  return Object.fromEntries([...Object.entries(schemas), ...addresses, ...messages]);
}

/**
 * @typedef {object} AsyncApi As far as it is compared.
 * @property {Record<string, { address: string }>} [channels]
 * @property {{ messages?: Record<string, { headers: Schema, 'x-amqp-properties'?: Schema }> }} [components]
 */

/**
 * @param {string} name
 * @param {Schema} before
 * @param {Schema} after
 */
function changesOf(name, before, after) {
  const [old, now] = [before.properties ?? {}, after.properties ?? {}];
  const problems = Object.entries(old).flatMap(([field, schema]) => {
    const where = `${name}: "${field}"`;
    const present = now[field];
    if (!present) return [`${where} is gone, or has another name: readers look for it.`];
    const [was, is] = [isRequired(before, field), isRequired(after, field)];
    const presence = was && !is ? [`${where} may be absent now: readers rely on it.`] : [];
    if (!was && is) presence.push(`${where} may not be absent any more: events that were stored before have none.`);
    return [...presence, ...typeChanges(where, schema, present)];
  });
  const added = Object.keys(now).filter((field) => !(field in old) && isRequired(after, field));
  return [
    ...problems,
    ...added.map(
      (field) => `${name}: "${field}" is new, and events that were stored before have none: make it optional.`,
    ),
  ];
}

/**
 * @param {string} where
 * @param {Schema} before
 * @param {Schema} after
 */
function typeChanges(where, before, after) {
  if (before.enum && after.enum) {
    const [old, now] = [before.enum, after.enum];
    const added = now.filter((value) => !old.includes(value));
    const gone = old.filter((value) => !now.includes(value));
    return [
      ...added.map((value) => `${where} can be "${value}" now: readers that switch on it know no such value.`),
      ...gone.map((value) => `${where} cannot be "${value}" any more: events that were stored before may say it.`),
    ];
  }
  const [was, is] = [typeOf(before), typeOf(after)];
  return was === is ? [] : [`${where} has another type: ${was} before, ${is} now.`];
}

/** What a schema demands, as a text that does not depend on the order of its keywords. */
function typeOf(/** @type {Schema} */ schema) {
  const entries = Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.includes(keyword));
  return JSON.stringify(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))));
}

function isRequired(/** @type {Schema} */ { required = [] }, /** @type {string} */ field) {
  return required.includes(field);
}
