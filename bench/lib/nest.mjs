import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { options, ready } from './contestant.mjs';

const adapters = { express: ExpressAdapter, fastify: FastifyAdapter };

/** Decorates a method, whose parameters have the given decorators and types, without a compiler. */
export function method(type, name, decorators, parameters = []) {
  const { prototype } = type;
  const types = parameters.map(([, parameterType = Object]) => parameterType);
  Reflect.defineMetadata('design:paramtypes', types, prototype, name);
  parameters.forEach(([decorator], index) => decorator(prototype, name, index));
  for (const decorator of decorators) decorator(prototype, name, Object.getOwnPropertyDescriptor(prototype, name));
}

/** Decorates a class whose constructor takes what the given decorators inject. */
export function provider(type, decorator, parameters = []) {
  parameters.forEach((parameter, index) => parameter(type, undefined, index));
  decorator(type);
  return type;
}

/** Starts an application and says so. `path`: of the route that is measured. `quiet`, of the options: trouble is what is measured. */
export async function serve(adapter, path, metadata, prepare = () => {}, handlers = () => ({})) {
  const App = provider(function App() {}, Module(metadata));
  const app = await NestFactory.create(App, new adapters[adapter](), {
    logger: options.quiet ? false : ['error', 'warn'],
  });
  prepare(app);
  await app.listen(0, '127.0.0.1');
  ready({ url: `${await app.getUrl()}${path}` }, handlers(app));
}
