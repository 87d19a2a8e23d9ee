import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { SandboxError } from '../common/errors.js';
import { html } from '../common/html.js';
import { sendPage } from '../common/page.js';
import { consolePage } from './pages/layout.js';

@Catch(SandboxError)
export class PageRefusalFilter implements ExceptionFilter<SandboxError> {
  catch(refusal: SandboxError, host: ArgumentsHost): void {
    const page = consolePage({
      status: refusal.status,
      title: 'Request refused',
      message: { tone: 'bad', text: `${refusal.message}.` },
      content: html`<p>Nothing was changed. Go back in the browser to correct it.</p>`,
    });
    sendPage(host.switchToHttp().getResponse<ServerResponse>(), page);
  }
}
