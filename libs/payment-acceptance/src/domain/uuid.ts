import { createHash } from 'node:crypto';

export const NAME_PREFIX = 'nestjs-payment-acceptance:';

/** No UUID sorts before it. */
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

/** Derives a UUID (version 8, SHA-256) from a name, such as an event's id from its key. */
export function uuidFromName(name: string): string {
  const bytes = createHash('sha256')
    .update(NAME_PREFIX + name, 'utf8')
    .digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidFromBytes(bytes);
}

export function uuidFromBytes(bytes: Buffer): string {
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Whether the text is a UUID in lower case, which every database accepts. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
