import { createHash } from 'node:crypto';

/**
 * The redirect's SignatureValue (section 5): `OutSum:InvId:token`, MD5, upper-case hexadecimal, over the transmitted
 * texts. A postback carries the same if its shop says so (assumed: its formula is not documented).
 */
export function signatureOf(outSum: string, invId: string, apiToken: string): string {
  return createHash('md5').update(`${outSum}:${invId}:${apiToken}`, 'utf8').digest('hex').toUpperCase();
}
