// Nest with a DTO that lacks fields, and a pipe that forbids what a DTO does not have.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { BadRequestException, Body, Controller, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IsString } from 'class-validator';

const { FIXED, PAID, PORT, TOKEN } = process.env;

class Postback {
  @IsString() Status!: string;
  @IsString() InvId!: string;
  @IsString() OutSum!: string;
  @IsString() SignatureValue!: string;
}

@Controller()
class Postbacks {
  @Post('postback')
  @HttpCode(200)
  take(@Body() { OutSum, InvId, SignatureValue, Status }: Postback): string {
    const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
    if (SignatureValue !== expected) throw new BadRequestException('bad signature');
    if (InvId === 'o-1') writeFileSync(PAID!, Status);
    return 'OK';
  }
}

@Module({ controllers: [Postbacks] })
class App {}

const app = await NestFactory.create(App);
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: !FIXED }));
await app.listen(PORT!, '127.0.0.1');
