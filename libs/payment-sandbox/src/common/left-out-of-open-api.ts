import { SetMetadata } from '@nestjs/common';

/**
 * Leaves a controller out of the OpenAPI document of a host that imports the sandbox, as `ApiExcludeController()` does, but
 * without `@nestjs/swagger`, which the host may not have. The sandbox has an OpenAPI document of its own.
 */
export const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);
