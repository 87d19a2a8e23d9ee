import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { options, ready } from './contestant.mjs';

/** @import { INestApplication, ModuleMetadata, Type } from '@nestjs/common' */

const adapters = { express: ExpressAdapter, fastify: FastifyAdapter };

/**
 * Decorates a method, whose parameters have the given decorators and types, without a compiler.
 * @param {{ prototype: object }} type
 * @param {string} name
 * @param {((prototype: object, name: string, descriptor: any) => void)[]} decorators
 * @param {[decorator: ParameterDecorator, type?: unknown][]} [parameters]
 */
export function method(type, name, decorators, parameters = []) {
  const { prototype } = type;
  const types = parameters.map(([, parameterType = Object]) => parameterType);
  Reflect.defineMetadata('design:paramtypes', types, prototype, name);
  parameters.forEach(([decorator], index) => decorator(prototype, name, index));
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators) decorator(prototype, name, /** @type {PropertyDescriptor} */ (descriptor));
}

/**
 * Decorates a class whose constructor takes what the given decorators inject.
 * @param {Function} type
 * @param {ClassDecorator} decorator
 * @param {ParameterDecorator[]} [parameters]
 */
export function provider(type, decorator, parameters = []) {
  parameters.forEach((parameter, index) => parameter(type, undefined, index));
  decorator(type);
  return /** @type {Type} */ (type);
}

/**
 * Starts an application and says so. `path`: of the route that is measured. `quiet`, of the options: trouble is what is measured.
 * @param {'express' | 'fastify'} adapter
 * @param {string} path
 * @param {ModuleMetadata} metadata
 * @param {(app: INestApplication) => void} [prepare]
 * @param {(app: INestApplication) => Record<string, (argument: any) => unknown>} [handlers]
 */
export async function serve(adapter, path, metadata, prepare = () => {}, handlers = () => ({})) {
  const App = provider(function App() {}, Module(metadata));
  const app = await NestFactory.create(App, new adapters[adapter](), {
    logger: options.quiet ? false : ['error', 'warn'],
  });
  prepare(app);
  await app.listen(0, '127.0.0.1');
  ready({ url: `${await app.getUrl()}${path}` }, handlers(app));
}
