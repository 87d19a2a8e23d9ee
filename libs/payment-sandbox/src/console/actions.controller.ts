import { Controller, Param, Post, Redirect, Req, UseFilters, UseGuards } from '@nestjs/common';
import { readForm, type SandboxRequest } from '../common/http.js';
import { LeftOutOfOpenApi } from '../common/left-out-of-open-api.js';
import { LocalOnlyGuard } from './local-only.guard.js';
import { PageRefusalFilter } from './page-refusal.filter.js';
import { faultSettings } from './pages/faults.page.js';
import { changedFields } from './pages/replay-forms.js';
import { shopAddress } from './pages/layout.js';
import { shopSettings } from './pages/shops.page.js';
import { PaymentSandbox } from './payment-sandbox.js';

interface Target {
  url: string;
  statusCode: 303;
}

/** Each action redirects to the page that shows its effect. */
@LeftOutOfOpenApi()
@Controller('sandbox/console')
@UseGuards(LocalOnlyGuard)
@UseFilters(PageRefusalFilter)
export class ConsoleActionsController {
  constructor(private readonly sandbox: PaymentSandbox) {}

  @Post('bills/:id/pay')
  @Redirect()
  async pay(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const amount = form.get('amount')?.trim();
    const { payment } = await this.sandbox.pay(id, {
      card: form.get('card') ?? '',
      ...(amount && { amount }),
    });
    return to(`/sandbox/console/bills/${payment.billId}#payment-${payment.id}-0`);
  }

  @Post('bills/:id/forge')
  @Redirect()
  async forge(@Param('id') id: string): Promise<Target> {
    const callback = await this.sandbox.forge(id);
    return to(`/sandbox/console/bills/${callback.billId}#callback-${callback.id}`);
  }

  @Post('payments/:id/complete')
  @Redirect()
  async complete(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const outcome = (await readForm(request)).get('outcome') as 'success' | 'fail';
    const { payment } = await this.sandbox.complete(id, { outcome });
    return to(`/sandbox/console/bills/${payment.billId}#payment-${id}-${payment.history.length - 1}`);
  }

  /** Without fields in the form, replays the callback unchanged. */
  @Post('callbacks/:id/replay')
  @Redirect()
  async replay(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const set = changedFields(form, this.sandbox.callback(id));
    const format = form.get('format') as 'json' | 'form' | null;
    const callback = await this.sandbox.replay(id, { set, resign: form.has('resign'), ...(format && { format }) });
    return to(`/sandbox/console/bills/${callback.billId}#callback-${callback.id}`);
  }

  @Post('faults/none')
  @Redirect()
  async noFaults(): Promise<Target> {
    await this.sandbox.clearFaults();
    return to('/sandbox/console/faults');
  }

  @Post('faults/seed')
  @Redirect()
  async seed(@Req() request: SandboxRequest): Promise<Target> {
    const text = (await readForm(request)).get('seed')?.trim() ?? '';
    const { seed: _before, ...faults } = this.sandbox.faults();
    await this.sandbox.setFaults(text === '' ? faults : { ...faults, seed: Number(text) });
    return to('/sandbox/console/faults#dice');
  }

  @Post('faults/:group/:fault')
  @Redirect()
  async fault(
    @Param('group') group: string,
    @Param('fault') fault: string,
    @Req() request: SandboxRequest,
  ): Promise<Target> {
    const form = await readForm(request);
    const faults = this.sandbox.faults();
    const { [fault]: _before, ...others } = { ...(faults as Record<string, Record<string, unknown>>)[group] };
    const changed = form.get('on') === 'yes' ? { ...others, [fault]: faultSettings(form) } : others;
    await this.sandbox.setFaults({ ...faults, [group]: changed });
    return to(`/sandbox/console/faults#${group}-${fault}`);
  }

  @Post('clock')
  @Redirect()
  async advance(@Req() request: SandboxRequest): Promise<Target> {
    await this.sandbox.advanceClock((await readForm(request)).get('advance')?.replaceAll(' ', '') as '0s');
    return to('/sandbox/console/clock');
  }

  @Post('shops')
  @Redirect()
  async newShop(@Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const { id } = await this.sandbox.putShop(form.get('id')?.trim() ?? '', { apiToken: form.get('apiToken')?.trim() });
    return to(shopAddress(id));
  }

  @Post('shops/:id/check')
  @Redirect()
  async checkShop(@Param('id') id: string): Promise<Target> {
    await this.sandbox.checkShop(id);
    return to(`${shopAddress(id)}#check`);
  }

  @Post('shops/:id')
  @Redirect()
  async shop(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const { id: shopId } = this.sandbox.shop(id);
    await this.sandbox.putShop(shopId, shopSettings(await readForm(request)));
    return to(`${shopAddress(shopId)}?saved`);
  }
}

function to(url: string): Target {
  return { url, statusCode: 303 };
}
