import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { Order } from './order.entity.js';

// As people write it for TypeORM's own commands.
export const AppDataSource: DataSource = new DataSource({
  type: 'postgres',
  url: process.env['DATABASE_URL'] ?? '',
  entities: [Order],
});
export default AppDataSource;
