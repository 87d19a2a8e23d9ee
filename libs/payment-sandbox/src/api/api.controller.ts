import { All, Get, Post, Req, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { SandboxController } from '../common/controller.js';
import type { SandboxRequest } from '../common/http.js';
import { ApiGateway } from './api-gateway.js';

/** The service's API (section 4). */
@SandboxController('api')
export class ApiController {
  constructor(private readonly gateway: ApiGateway) {}

  @Post('v1/bill/create')
  create(@Req() request: SandboxRequest, @Res() response: ServerResponse): Promise<void> {
    return this.gateway.serve('create', request, response);
  }

  @Get('v1/bill/payments')
  payments(@Req() request: SandboxRequest, @Res() response: ServerResponse): Promise<void> {
    // Express also calls it for HEAD.
    if (request.method !== 'GET') return this.gateway.refuse(request, response);
    return this.gateway.serve('payments', request, response);
  }

  /** Refuses the same addresses with any other method. Other addresses below `/api` may belong to the host. */
  @All(['v1/bill/create', 'v1/bill/payments'])
  unknown(@Req() request: SandboxRequest, @Res() response: ServerResponse): Promise<void> {
    return this.gateway.refuse(request, response);
  }
}
