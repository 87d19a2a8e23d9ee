import { createHash } from 'node:crypto';

/**
 * The redirect's SignatureValue (section 5): the MD5 of `OutSum:InvId:token`, with the values as sent, in upper-case
 * hexadecimal. The same formula signs postbacks if the shop's `postbackSignature` says so (assumed: the formula for
 * postbacks is not documented).
 */
export function signatureOf(outSum: string, invId: string, apiToken: string): string {
  return createHash('md5').update(`${outSum}:${invId}:${apiToken}`, 'utf8').digest('hex').toUpperCase();
}
