import { BadRequestException, Injectable, ValidationPipe, type ArgumentMetadata } from '@nestjs/common';

/** More than any body of the shop has, and less than the stack of a validation that descends by recursion. */
const MAX_DEPTH = 32;

/** The ValidationPipe, for which a body that is nested without measure is the sender's mistake, not an error of ours. */
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
