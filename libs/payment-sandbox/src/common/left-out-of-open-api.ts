import { SetMetadata } from '@nestjs/common';

/**
 * Does what `ApiExcludeController()` does, but without `@nestjs/swagger`, which the host may not have. The sandbox has
 * an OpenAPI document of its own.
 */
export const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);
