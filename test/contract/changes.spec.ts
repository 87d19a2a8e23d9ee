import { describe, expect, test } from '@jest/globals';
import { incompatibleChanges } from './changes.mjs';
import type { Schema } from './event-schemas.mjs';
import { publishedFiles, releasedFiles } from './support/contract.js';

describe('the contract of the events', () => {
  test('the event contract takes nothing from the readers of the last release', () => {
    const published = publishedFiles();
    const { version } = (published['bill.expired.json'] as Schema).properties!;
    // A new version needs its own folder of etc/event-contract: see CONTRIBUTING.md.
    expect(incompatibleChanges(releasedFiles(Number(version!.const)), published)).toEqual([]);
  });
});

describe('a change of the contract', () => {
  const text: Schema = { description: 'A text.', type: 'string' };
  const event = (properties: Record<string, Schema>, optional: string[] = []): Schema => ({
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  });
  const before = {
    'paid.json': event(
      {
        id: text,
        note: text,
        amount: { type: 'string', pattern: '^[0-9]+$' },
        card: { type: ['string', 'null'] },
        billState: { type: 'string', enum: ['OPEN', 'PAID'] },
        reason: { type: 'string', examples: ['odd'] },
      },
      ['note'],
    ),
  };
  const { properties } = before['paid.json'] as { properties: Record<string, Schema> };
  const changed = (change: Record<string, Schema | undefined>, optional = ['note']): string[] => {
    const after = JSON.parse(JSON.stringify({ ...properties, ...change })) as Record<string, Schema>;
    return incompatibleChanges(before, { 'paid.json': event(after, optional) });
  };

  test.each<[string, Record<string, Schema>, string[]]>([
    ['nothing', {}, ['note']],
    ['a new field that may be absent', { more: text }, ['note', 'more']],
    ['another description', { id: { ...text, description: 'Another text.' } }, ['note']],
    ['one more known value of an open set', { reason: { type: 'string', examples: ['odd', 'new'] } }, ['note']],
    ['the order of keywords', { amount: { pattern: '^[0-9]+$', type: 'string' } }, ['note']],
  ])('a change of the event contract is compatible: %s', (_, change, optional) => {
    expect(changed(change, optional)).toEqual([]);
  });

  test('a change of the event contract is compatible: a new event', () => {
    expect(incompatibleChanges(before, { ...before, 'refunded.json': event({ id: text }) })).toEqual([]);
  });

  test.each<[string, Record<string, Schema | undefined>, string[], string]>([
    ['a field that is gone', { id: undefined }, ['note'], '"id" is gone'],
    ['an optional field that is gone', { note: undefined }, [], '"note" is gone'],
    ['a field that may be absent', {}, ['note', 'id'], '"id" may be absent now'],
    ['a field that may not be absent any more', {}, [], '"note" may not be absent any more'],
    ['a new field that is always there', { more: text }, ['note'], '"more" is new, and events that were stored before'],
    ['another type', { amount: { type: 'number' } }, ['note'], '"amount" has another type'],
    ['a wider type', { id: { type: ['string', 'null'] } }, ['note'], '"id" has another type'],
    ['a narrower type', { card: { type: 'string' } }, ['note'], '"card" has another type'],
    ['another form', { amount: { type: 'string' } }, ['note'], '"amount" has another type'],
    [
      'a further value',
      { billState: { type: 'string', enum: ['OPEN', 'PAID', 'LOST'] } },
      ['note'],
      'can be "LOST" now',
    ],
    ['a value less', { billState: { type: 'string', enum: ['PAID'] } }, ['note'], 'cannot be "OPEN" any more'],
    ['a set that is closed', { reason: { type: 'string', enum: ['odd'] } }, ['note'], '"reason" has another type'],
  ])('a change of the event contract is refused: %s', (_, change, optional, reason) => {
    expect(changed(change, optional)).toEqual([expect.stringContaining(reason)]);
  });

  test('a change of the event contract is refused: a renamed field', () => {
    expect(changed({ id: undefined, key: text })).toEqual([
      expect.stringContaining('"id" is gone, or has another name'),
      expect.stringContaining('"key" is new'),
    ]);
  });

  test('a change of the event contract is refused: an event that is gone', () => {
    expect(incompatibleChanges(before, {})).toEqual(['paid.json: is gone, and its readers wait for it.']);
  });

  test('a change of the event contract is refused: another address or header of a channel', () => {
    const asyncapi = (address: string, header: string) => ({
      'asyncapi.json': {
        channels: { paid: { address } },
        components: { messages: { paid: { headers: event({ [header]: text }) } } },
      },
    });
    expect(incompatibleChanges(asyncapi('paid.{shop}', 'Id'), asyncapi('{shop}.paid', 'Key'))).toEqual([
      expect.stringContaining('channel paid: "address" has another type'),
      expect.stringContaining('headers of paid: "Id" is gone'),
      expect.stringContaining('headers of paid: "Key" is new'),
    ]);
  });
});
