// Nest with a global prefix, which the Result URL lacks.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { BadRequestException, Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { PAID, PORT, TOKEN } = process.env;

@Controller('postback')
class Postbacks {
  @Post()
  @HttpCode(200)
  take(@Body() { OutSum, InvId, SignatureValue, Status = '' }: Record<string, string>): { ok: boolean } {
    const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
    if (SignatureValue !== expected) throw new BadRequestException('bad signature');
    if (InvId === 'o-1') writeFileSync(PAID!, Status);
    return { ok: true };
  }
}

@Module({ controllers: [Postbacks] })
class App {}

const app = await NestFactory.create(App);
app.setGlobalPrefix('api');
await app.listen(PORT!, '127.0.0.1');
