import { SetMetadata } from '@nestjs/common';

/**
 * Leaves a controller out of the OpenAPI document of a host that imports the sandbox, as `ApiExcludeController()` of
 * `@nestjs/swagger` does, which the host may not have. The sandbox has a document of its own.
 */
export const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);
