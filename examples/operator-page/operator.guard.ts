import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** In place of the application's own: lets operators through. */
@Injectable()
export class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-operator'] === 'yes';
  }
}
