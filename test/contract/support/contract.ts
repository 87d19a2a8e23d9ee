import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SCHEMAS } from '../files.mjs';

const root = resolve(import.meta.dirname, '../../..');

/** The published files of the contract, by name. */
export function publishedFiles(): Record<string, object> {
  const folder = join(root, SCHEMAS);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readJson(join(folder, name))]));
}

/** The files of the last release whose events had this `version`, by name. */
export function releasedFiles(version: number): Record<string, object> {
  const folder = join(root, 'etc/event-contract', String(version));
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readJson(join(folder, name))]));
}

function readJson(file: string): object {
  return JSON.parse(readFileSync(file, 'utf8')) as object;
}

/** A validator of the contract; what is wrong with a value is empty where nothing is. */
export class Contract {
  // The keywords of AsyncAPI around the schemas are unknown to ajv.
  private readonly ajv = new Ajv({ strict: false, allErrors: true });

  constructor() {
    addFormats.default(this.ajv);
    for (const [name, content] of Object.entries(publishedFiles())) this.ajv.addSchema(content, name);
  }

  /** What is wrong with an event, by its schema. */
  flawsOfEvent(name: string, event: unknown): string[] {
    return this.flaws(`${name}.json`, event);
  }

  /** What is wrong with a part of a message on a channel of the AsyncAPI document, such as `rabbitmq.payment.succeeded`. */
  flawsOfMessage(channel: string, part: 'payload' | 'headers' | 'x-amqp-properties', value: unknown): string[] {
    return this.flaws(`asyncapi.json#/components/messages/${channel}/${part}`, value);
  }

  /** The routing key or subject of a channel, for a shop. */
  addressOf(channel: string, shop: string): string {
    const { channels } = publishedFiles()['asyncapi.json'] as { channels: Record<string, { address: string }> };
    const address = channels[channel]?.address;
    if (address === undefined) throw new Error(`There is no channel ${channel}.`);
    return address.replace('{shop}', shop);
  }

  private flaws(schema: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(schema);
    if (!validate) throw new Error(`There is no schema ${schema}.`);
    void validate(value);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
  }
}
