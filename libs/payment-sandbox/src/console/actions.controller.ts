import { applyDecorators, Param, Post, Redirect, Req } from '@nestjs/common';
import { SandboxController } from '../common/controller.js';
import { readForm, type SandboxRequest } from '../common/http.js';
import { LocalOnlyGuard } from './local-only.guard.js';
import { PageRefusalFilter } from './page-refusal.filter.js';
import { faultSettings } from './pages/faults.page.js';
import { shopAddress } from './pages/layout.js';
import { shopSettings } from './pages/shops.page.js';
import { changedFields } from './pages/timeline.js';
import { PaymentSandbox } from './payment-sandbox.js';

/** Where an action leads. */
interface Target {
  url: string;
}

const Action = (path: string): MethodDecorator => applyDecorators(Post(path), Redirect('', 303));

/** Each action redirects to the page that shows its effect. */
@SandboxController('sandbox/console', PageRefusalFilter, LocalOnlyGuard)
export class ConsoleActionsController {
  constructor(private readonly sandbox: PaymentSandbox) {}

  @Action('bills/:id/pay')
  async pay(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const amount = form.get('amount')?.trim();
    const { payment } = await this.sandbox.pay(id, { card: form.get('card') ?? '', ...(amount && { amount }) });
    return { url: `/sandbox/console/bills/${payment.billId}#payment-${payment.id}-0` };
  }

  @Action('bills/:id/forge')
  async forge(@Param('id') id: string): Promise<Target> {
    const callback = await this.sandbox.forge(id);
    return { url: `/sandbox/console/bills/${callback.billId}#callback-${callback.id}` };
  }

  @Action('payments/:id/complete')
  async complete(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const outcome = (await readForm(request)).get('outcome') as 'success' | 'fail';
    const { payment } = await this.sandbox.complete(id, { outcome });
    return { url: `/sandbox/console/bills/${payment.billId}#payment-${id}-${payment.history.length - 1}` };
  }

  /** Without fields in the form, replays the callback unchanged. */
  @Action('callbacks/:id/replay')
  async replay(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const set = changedFields(form, this.sandbox.callback(id));
    const format = form.get('format') as 'json' | 'form' | null;
    const callback = await this.sandbox.replay(id, { set, resign: form.has('resign'), ...(format && { format }) });
    return { url: `/sandbox/console/bills/${callback.billId}#callback-${callback.id}` };
  }

  @Action('faults/none')
  async noFaults(): Promise<Target> {
    await this.sandbox.clearFaults();
    return { url: '/sandbox/console/faults' };
  }

  @Action('faults/seed')
  async seed(@Req() request: SandboxRequest): Promise<Target> {
    const text = (await readForm(request)).get('seed')?.trim() ?? '';
    const { seed: _before, ...faults } = this.sandbox.faults();
    await this.sandbox.setFaults(text === '' ? faults : { ...faults, seed: Number(text) });
    return { url: '/sandbox/console/faults#dice' };
  }

  @Action('faults/:group/:fault')
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
    return { url: `/sandbox/console/faults#${group}-${fault}` };
  }

  @Action('clock')
  async advance(@Req() request: SandboxRequest): Promise<Target> {
    await this.sandbox.advanceClock((await readForm(request)).get('advance')?.replaceAll(' ', '') as '0s');
    return { url: '/sandbox/console/clock' };
  }

  @Action('shops')
  async newShop(@Req() request: SandboxRequest): Promise<Target> {
    const form = await readForm(request);
    const { id } = await this.sandbox.putShop(form.get('id')?.trim() ?? '', { apiToken: form.get('apiToken')?.trim() });
    return { url: shopAddress(id) };
  }

  @Action('shops/:id/check')
  async checkShop(@Param('id') id: string): Promise<Target> {
    await this.sandbox.checkShop(id);
    return { url: `${shopAddress(id)}#check` };
  }

  @Action('shops/:id')
  async shop(@Param('id') id: string, @Req() request: SandboxRequest): Promise<Target> {
    const { id: shopId } = this.sandbox.shop(id);
    await this.sandbox.putShop(shopId, shopSettings(await readForm(request)));
    return { url: `${shopAddress(shopId)}?saved` };
  }
}
