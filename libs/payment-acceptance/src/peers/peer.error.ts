/**
 * What is installed beside this package does not fit it. Thrown while it is being imported.
 *
 * Not a `PaymentAcceptanceError`, whose file needs NestJS, which may be what is missing.
 */
export class PaymentPeerError extends Error {
  readonly code = 'unfit-peers';

  constructor(readonly problems: readonly string[]) {
    super(
      `nestjs-payment-acceptance cannot start with the packages that are installed:\n` +
        `${problems.map((problem) => `  - ${problem}`).join('\n')}\n` +
        'npx payment-acceptance init looks at the whole application.',
    );
    this.name = 'PaymentPeerError';
  }
}
