import { Controller, Post, Req, Res, type RawBodyRequest } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';

@Controller()
export class CutOverController {
  constructor(private readonly callbacks: PaymentCallbacks) {}

  @Post('postback/payment')
  async postback(@Req() request: RawBodyRequest<Request>, @Res() response: Response): Promise<void> {
    const { TrsId } = (request.body ?? {}) as { TrsId?: unknown };
    const contentType = request.headers['content-type'] ?? '';
    const bytes = request.rawBody;
    if (!bytes) throw new Error('The body is neither JSON nor a form, or rawBody is not set.');
    if (!(await this.callbacks.isOurs('main', TrsId)) && (await this.olderHandlerTakes(bytes, contentType))) {
      response.status(200).send('OK');
      return;
    }
    // Ours, or nobody's: if its bill was lost here, it is found.
    const { kind, status } = await this.callbacks.postback('main', bytes, { contentType });
    response.status(status).send(kind === 'stored' ? 'OK' : kind);
  }

  /** False: it is not its bill either. An error is answered 500, and the service sends the postback again. */
  private async olderHandlerTakes(body: Buffer, contentType: string): Promise<boolean> {
    const answer = await fetch(process.env.OLD_POSTBACK_URL!, {
      method: 'POST',
      headers: { 'content-type': contentType },
      body: new Uint8Array(body),
      redirect: 'manual', // followed, it would be a GET
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok && answer.status !== 404) throw new Error(`The old handler answered ${answer.status}.`);
    return answer.ok; // 404: it has no such bill
  }
}
