import { applyDecorators, Delete, Get, HttpCode, Param, Post, Put, Query, Req } from '@nestjs/common';
import { RefusalFilter, SandboxController } from '../common/controller.js';
import { SandboxError } from '../common/errors.js';
import { ownAddress, readJson, type SandboxRequest } from '../common/http.js';
import { readFields } from '../common/input.js';
import type { FaultDocument } from '../model/fault-document.js';
import type { ShopInput } from '../model/options.js';
import { LocalOnlyGuard } from './local-only.guard.js';
import { openApiDocument } from './openapi.js';
import { type PayInput, PaymentSandbox, type ReplayInput } from './payment-sandbox.js';

/** Answers 200: a command does not create what the address names. */
const Command = (path: string): MethodDecorator => applyDecorators(Post(path), HttpCode(200));

/** Passes bodies on unchecked: {@link PaymentSandbox} checks every field, whatever its declared type. */
@SandboxController('sandbox', RefusalFilter, LocalOnlyGuard)
export class ConsoleController {
  constructor(private readonly sandbox: PaymentSandbox) {}

  @Get('openapi.json')
  openApi(@Req() request: SandboxRequest) {
    return openApiDocument(ownAddress(request));
  }

  @Get('requests')
  requests(@Query('after') after: unknown) {
    return this.sandbox.receivedRequests(readAfter(after));
  }

  @Get('shops')
  shops() {
    return this.sandbox.shops();
  }

  @Get('shops/:id')
  shop(@Param('id') id: string) {
    return this.sandbox.shop(id);
  }

  @Put('shops/:id')
  async putShop(@Param('id') id: string, @Req() request: SandboxRequest) {
    return this.sandbox.putShop(id, (await readJson(request)) as Partial<ShopInput>);
  }

  @Command('shops/:id/check')
  checkShop(@Param('id') id: string) {
    return this.sandbox.checkShop(id);
  }

  @Get('bills')
  bills() {
    return this.sandbox.bills();
  }

  @Get('bills/:id')
  bill(@Param('id') id: string) {
    return this.sandbox.bill(id);
  }

  @Command('bills/:id/pay')
  async pay(@Param('id') id: string, @Req() request: SandboxRequest) {
    return this.sandbox.pay(id, (await readJson(request)) as PayInput);
  }

  @Command('bills/:id/forge')
  async forge(@Param('id') id: string, @Req() request: SandboxRequest) {
    return this.sandbox.forge(id, (await readJson(request)) as { set?: Record<string, string> });
  }

  @Command('payments/:id/complete')
  async complete(@Param('id') id: string, @Req() request: SandboxRequest) {
    return this.sandbox.complete(id, (await readJson(request)) as { outcome: 'success' | 'fail' });
  }

  @Command('callbacks/:id/replay')
  async replay(@Param('id') id: string, @Req() request: SandboxRequest) {
    return this.sandbox.replay(id, (await readJson(request)) as ReplayInput);
  }

  @Get('faults')
  faults() {
    return this.sandbox.faults();
  }

  @Put('faults')
  async putFaults(@Req() request: SandboxRequest) {
    return this.sandbox.setFaults((await readJson(request)) as FaultDocument);
  }

  @Delete('faults')
  clearFaults() {
    return this.sandbox.clearFaults();
  }

  @Get('clock')
  clock() {
    return { now: this.sandbox.now() };
  }

  @Command('clock')
  async advanceClock(@Req() request: SandboxRequest) {
    const { advance } = readFields(await readJson(request), 'The clock', ['advance']);
    return { now: await this.sandbox.advanceClock(advance as '0s') };
  }
}

function readAfter(text: unknown): number {
  if (text === undefined) return 0;
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text);
  throw new SandboxError(400, 'after must be the id of a request: a whole number');
}
