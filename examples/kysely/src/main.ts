import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks(); // running payments end before the application stops
await app.listen(process.env.PORT ?? 3000);
