import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
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
