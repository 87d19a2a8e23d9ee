import { IsIn, IsOptional, IsString, Length, Matches, ValidateBy } from 'class-validator';
import type { ShopName } from './order.entity.js';

/** Text that a database can store: no NUL, no lone surrogate. */
const IsStorable = () =>
  ValidateBy({
    name: 'isStorable',
    validator: {
      validate: (text: unknown) => typeof text === 'string' && text.isWellFormed() && !text.includes('\0'),
      defaultMessage: () => '$property must be well-formed text without a NUL',
    },
  });

export class CreateOrderDto {
  @IsOptional()
  @IsIn(['main', 'eu'])
  shop?: ShopName;

  /** A string, so that no digit is lost. */
  @IsString()
  @Matches(/^(?!0+(\.0+)?$)\d{1,8}(\.\d{1,2})?$/, { message: 'amount must be text such as "100.05", above 0' })
  amount!: string;

  @IsOptional()
  @IsString()
  @Length(1, 200)
  @Matches(/\S/, { message: 'description must not be blank' })
  @IsStorable()
  description?: string;
}
