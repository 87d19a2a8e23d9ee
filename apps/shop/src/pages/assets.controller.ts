import { Controller, Get, NotFoundException, Param, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { LIVE_SCRIPT } from './live.script.js';
import { ICON, STYLE } from './style.js';

const ASSETS = [STYLE, ICON, LIVE_SCRIPT];

@Controller('assets')
export class AssetsController {
  constructor(private readonly host: HttpAdapterHost) {}

  @Get(':name')
  send(@Param('name') name: string, @Res() response: object): void {
    const asset = ASSETS.find((each) => each.name === name);
    if (!asset) throw new NotFoundException('File not found.');
    const { httpAdapter } = this.host;
    httpAdapter.setHeader(response, 'Content-Type', `${asset.type}; charset=utf-8`);
    httpAdapter.setHeader(response, 'Cache-Control', 'public, max-age=31536000, immutable');
    httpAdapter.reply(response, asset.text, 200);
  }
}
