import { Controller, Get, Req, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { ApiController } from '../api/api.controller.js';
import { ownAddress, type SandboxRequest } from '../common/http.js';
import { LeftOutOfOpenApi } from '../common/left-out-of-open-api.js';
import { sendPage } from '../common/page.js';
import { RefusalFilter } from '../common/refusal.filter.js';
import { ConsoleController } from '../console/console.controller.js';
import { LocalOnlyGuard } from '../console/local-only.guard.js';
import { ConsolePagesController } from '../console/pages.controller.js';
import { openApiDocument, operationsOf } from './document.js';
import { openApiPage } from './openapi.page.js';

const OPERATIONS = operationsOf([ApiController, ConsoleController, ConsolePagesController]);

/** The interfaces for programs, as an OpenAPI document and as a page. */
@LeftOutOfOpenApi()
@Controller('sandbox')
@UseGuards(LocalOnlyGuard)
@UseFilters(RefusalFilter)
export class OpenApiController {
  @Get('openapi.json')
  document(@Req() request: SandboxRequest) {
    return openApiDocument(OPERATIONS, ownAddress(request));
  }

  @Get('console/interface')
  page(@Req() request: SandboxRequest, @Res() response: ServerResponse): void {
    sendPage(response, openApiPage(OPERATIONS), request);
  }
}
