import { BadRequestException, Injectable, ValidationPipe, type ArgumentMetadata } from '@nestjs/common';

/** Deeper than any of the shop's bodies, yet shallow enough for recursive validation. */
const MAX_DEPTH = 32;

/** A ValidationPipe that answers an excessively nested body with 400 instead of failing. */
@Injectable()
export class BodyValidationPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (this.toValidate(metadata) && isDeeper(value, MAX_DEPTH)) {
      throw new BadRequestException('The body is nested too deeply.');
    }
    return super.transform(value, metadata);
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
