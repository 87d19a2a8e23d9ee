import { IsIn, IsOptional, IsString, Length, Matches } from 'class-validator';
import type { ShopName } from './order.entity.js';

export class CreateOrderDto {
  @IsOptional()
  @IsIn(['main', 'eu'])
  shop?: ShopName;

  /** Text, so that no digit is lost on the way. */
  @IsString()
  @Matches(/^(?!0+(\.0+)?$)\d{1,8}(\.\d{1,2})?$/, { message: 'amount must be text such as "100.05", above 0' })
  amount!: string;

  @IsOptional()
  @IsString()
  @Length(1, 200)
  description?: string;
}
