// Nest answering a postback without looking at it: what no handler can beat.
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';

class Postbacks {
  /** @param {unknown} _body */
  take(_body) {
    return 'OK';
  }
}
method(Postbacks, 'take', [Post('postback'), HttpCode(200)], [[Body()]]);
provider(Postbacks, Controller());

await serve(options.adapter, '/postback', { controllers: [Postbacks] });
