import {
  applyDecorators,
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  SetMetadata,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { SandboxError } from './errors.js';

@Catch(SandboxError)
export class RefusalFilter implements ExceptionFilter<SandboxError> {
  catch(refusal: SandboxError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    response.writeHead(refusal.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: refusal.message, success: false }));
  }
}

/**
 * A controller at `path` that the host's OpenAPI document leaves out: the sandbox has one of its own. Does what
 * `ApiExcludeController()` does, but without `@nestjs/swagger`, which the host may not have.
 */
export const SandboxController = (
  path: string,
  filter: Type<ExceptionFilter> = RefusalFilter,
  ...guards: Type<CanActivate>[]
): ClassDecorator =>
  applyDecorators(
    SetMetadata('swagger/apiExcludeController', [true]),
    Controller(path),
    UseFilters(filter),
    UseGuards(...guards),
  );
