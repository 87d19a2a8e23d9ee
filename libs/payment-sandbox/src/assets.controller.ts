import { Get, Param, Req, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { SandboxController } from './common/controller.js';
import { SandboxError } from './common/errors.js';
import type { SandboxRequest } from './common/http.js';
import { ICON, STYLE } from './common/style.js';
import { CONSOLE_SCRIPT } from './console/pages/script.js';
import { CARD_SCRIPT, RETURN_SCRIPT, WAIT_SCRIPT } from './payer-pages/assets.js';

const ASSETS = [STYLE, ICON, CARD_SCRIPT, RETURN_SCRIPT, WAIT_SCRIPT, CONSOLE_SCRIPT];

@SandboxController('sandbox/assets')
export class AssetsController {
  @Get(':name')
  send(@Param('name') name: string, @Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    const asset = ASSETS.find((each) => each.name === name);
    if (!asset) throw new SandboxError(404, `There is no ${name}`);
    asset.send(response, request.originalUrl ?? request.url);
  }
}
