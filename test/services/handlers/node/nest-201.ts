// Nest as its generator makes it: a POST answers 201.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Body, Controller, ForbiddenException, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { FIXED, PAID, PORT, TOKEN } = process.env;

@Controller()
class Postbacks {
  @Post('postback')
  @HttpCode(FIXED ? 200 : 201)
  take(@Body() { OutSum, InvId, SignatureValue, Status = '' }: Record<string, string>): string {
    const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
    if (SignatureValue !== expected) throw new ForbiddenException('bad signature');
    if (InvId === 'o-1' && FIXED) writeFileSync(PAID!, Status);
    return 'OK';
  }
}

@Module({ controllers: [Postbacks] })
class App {}

await (await NestFactory.create(App)).listen(PORT!, '127.0.0.1');
