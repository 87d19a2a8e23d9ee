import { ForbiddenException, type CanActivate } from '@nestjs/common';
import type { ConsoleRequest } from './common/options.js';

const LOCALHOST_PATTERN = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * Replaces the host's guard in development: a website that points its own name at this machine (DNS rebinding) must not
 * be able to read or decide anything.
 */
export const LOCALHOST_GUARD: CanActivate = {
  canActivate(context) {
    const { headers } = context.switchToHttp().getRequest<ConsoleRequest>();
    if (LOCALHOST_PATTERN.test(String(headers.host ?? ''))) return true;
    throw new ForbiddenException(
      'Without a guard, the payment console is available at localhost only. For other names, pass it a guard: ' +
        'PaymentConsoleModule.register({ guards: [YourOperatorGuard] }).',
    );
  },
};
