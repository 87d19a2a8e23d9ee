import { Body, Controller, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';

@Controller()
export class CutOverController {
  constructor(private readonly callbacks: PaymentCallbacks) {}

  @Post('postback/payment')
  async postback(@Body() body: unknown, @Res() response: Response): Promise<void> {
    const { TrsId } = (body ?? {}) as { TrsId?: unknown };
    if (!(await this.callbacks.isOurs('main', TrsId)) && (await this.olderHandlerTakes(body))) {
      response.status(200).send('OK');
      return;
    }
    // Ours, or nobody's: if its bill was lost here, it is found.
    const { kind, status } = await this.callbacks.postback('main', body);
    response.status(status).send(kind === 'stored' ? 'OK' : kind);
  }

  /** False: it is not its bill either. An error is answered 500, and the service sends the postback again. */
  private async olderHandlerTakes(body: unknown): Promise<boolean> {
    const answer = await fetch(process.env.OLD_POSTBACK_URL!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok && answer.status !== 404) throw new Error(`The old handler answered ${answer.status}.`);
    return answer.ok; // 404: it has no such bill
  }
}
