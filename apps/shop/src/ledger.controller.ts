import { Controller, Get } from '@nestjs/common';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';

/** What the payment module has recorded, for the sandbox to compare with. Development only: it shows every shop's business. */
@Controller('api/ledger')
export class LedgerController {
  constructor(private readonly operations: PaymentOperations) {}

  @Get()
  read() {
    return this.operations.readLedger();
  }
}
