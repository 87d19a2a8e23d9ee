import { Module, type DynamicModule } from '@nestjs/common';
import { createConsoleController } from './console.controller.js';
import { ConsoleResponder } from './console.responder.js';
import type { PaymentConsoleOptions } from './common/options.js';
import { CONSOLE_OPTIONS, resolveConsoleOptions } from './resolved-options.js';

/**
 * The operator console: pages that show what needs a person and why, and act on it. Import `register` once, beside
 * `PaymentAcceptanceModule`, with the guards that admit operators.
 */
@Module({})
export class PaymentConsoleModule {
  /** The application does not start if the options are invalid (`PaymentConfigurationError`). */
  static register(options: PaymentConsoleOptions = {}): DynamicModule {
    return {
      module: PaymentConsoleModule,
      imports: options.imports ?? [],
      controllers: [createConsoleController(options)],
      providers: [
        { provide: CONSOLE_OPTIONS, useFactory: () => resolveConsoleOptions(options, process.env.NODE_ENV) },
        ConsoleResponder,
      ],
    };
  }
}
