import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { BillService } from './bill.service.js';
import { BillStore } from './storage/bill.store.js';
import { MariaBillStore } from './storage/mariadb/bill.store.js';
import { PostgresBillStore } from './storage/postgres/bill.store.js';

/** Creating bills. */
export const BILLS: readonly Provider[] = [BillService, perDatabase(BillStore, PostgresBillStore, MariaBillStore)];
