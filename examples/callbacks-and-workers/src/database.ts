import { TypeOrmModule } from '@nestjs/typeorm';
import { Order } from './order.entity.js';

/** Both applications use one database: what one stores, the other takes up. */
export const database = TypeOrmModule.forRoot({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  entities: [Order],
  synchronize: true,
});
