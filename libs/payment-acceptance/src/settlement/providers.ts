import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { BillChecks } from './bill-checks.js';
import { BillInquiry } from './bill-inquiry.js';
import { CheckClaims } from './check-claims.js';
import { Confirmer } from './confirmer.js';
import { FollowedShops } from './followed-shops.js';
import { SettlementService } from './settlement.service.js';
import { SettlementTransactions } from './settlement.transactions.js';
import { CheckStore } from './storage/check.store.js';
import { DueStore } from './storage/due.store.js';
import { InquiryStore } from './storage/inquiry.store.js';
import { MariaCheckStore } from './storage/mariadb/check.store.js';
import { MariaDueStore } from './storage/mariadb/due.store.js';
import { MariaSettlementStore } from './storage/mariadb/settlement.store.js';
import { PostgresCheckStore } from './storage/postgres/check.store.js';
import { PostgresDueStore } from './storage/postgres/due.store.js';
import { PostgresSettlementStore } from './storage/postgres/settlement.store.js';
import { SettlementStore } from './storage/settlement.store.js';
import { ShopStore } from './storage/shop.store.js';

/** Checks and settlements. */
export const SETTLEMENT: readonly Provider[] = [
  FollowedShops,
  CheckClaims,
  Confirmer,
  BillChecks,
  BillInquiry,
  SettlementService,
  SettlementTransactions,
  perDatabase(CheckStore, PostgresCheckStore, MariaCheckStore),
  perDatabase(DueStore, PostgresDueStore, MariaDueStore),
  perDatabase(SettlementStore, PostgresSettlementStore, MariaSettlementStore),
  InquiryStore,
  ShopStore,
];
