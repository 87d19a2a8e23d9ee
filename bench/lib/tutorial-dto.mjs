import { IsNumberString, IsOptional, IsString } from 'class-validator';

/** @typedef {Record<'Status' | 'InvId' | 'OutSum' | 'TrsId' | 'SignatureValue', string>} Postback */

/** A postback (section 2.5), as tutorials validate it. */
export function PostbackDto() {}
for (const field of ['Status', 'InvId', 'CurrencyIn', 'TrsId', 'SignatureValue'])
  IsString()(PostbackDto.prototype, field);
for (const field of ['Commission', 'custom', 'AccountType']) {
  IsOptional()(PostbackDto.prototype, field);
  IsString()(PostbackDto.prototype, field);
}
IsNumberString()(PostbackDto.prototype, 'OutSum');
