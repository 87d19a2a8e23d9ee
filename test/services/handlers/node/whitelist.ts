import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import {
  Body,
  Controller,
  ForbiddenException,
  HttpCode,
  Module,
  NotFoundException,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Allow, IsIn, IsNotEmpty, IsNumberString, IsOptional, IsString } from 'class-validator';

const { PORT, TOKEN, AMOUNT, PAID, FIXED } = process.env as Record<string, string>;

class PostbackDto {
  @IsIn(['SUCCESS', 'FAIL'])
  Status!: string;

  @IsString()
  @IsNotEmpty()
  InvId!: string;

  @IsNumberString()
  OutSum!: string;

  @IsOptional()
  @IsString()
  custom?: string;

  SignatureValue!: string;
}

// the corrected class: the field has a decorator
if (FIXED) {
  Allow()(PostbackDto.prototype, 'SignatureValue');
}

@Controller()
class PaymentController {
  @Post('postback')
  @HttpCode(200)
  postback(
    @Body(new ValidationPipe({ expectedType: PostbackDto, whitelist: true, transform: true })) dto: PostbackDto,
  ) {
    const expected = createHash('md5').update(`${dto.OutSum}:${dto.InvId}:${TOKEN}`).digest('hex').toUpperCase();
    if (dto.SignatureValue !== expected) {
      throw new ForbiddenException('Invalid signature');
    }
    if (dto.InvId !== 'o-1') {
      throw new NotFoundException('Order not found');
    }
    if (dto.OutSum !== AMOUNT) {
      throw new ForbiddenException('Invalid amount');
    }
    writeFileSync(PAID!, dto.Status);
    return { success: true };
  }
}

@Module({ controllers: [PaymentController] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(Number(PORT), '127.0.0.1');
