// Nest behind a guard for the whole application, which wants a login.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { BadRequestException, Body, Controller, HttpCode, Module, Post, UnauthorizedException } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';

const { FIXED, PAID, PORT, TOKEN } = process.env;

@Controller()
class Postbacks {
  @Post('postback')
  @HttpCode(200)
  take(@Body() { OutSum, InvId, SignatureValue, Status = '' }: Record<string, string>): string {
    const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
    if (SignatureValue !== expected) throw new BadRequestException('bad signature');
    if (InvId === 'o-1') writeFileSync(PAID!, Status);
    return 'OK';
  }
}

const guard = {
  canActivate(): boolean {
    if (!FIXED) throw new UnauthorizedException();
    return true;
  },
};

@Module({ controllers: [Postbacks], providers: [{ provide: APP_GUARD, useValue: guard }] })
class App {}

await (await NestFactory.create(App)).listen(PORT!, '127.0.0.1');
