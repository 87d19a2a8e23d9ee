export { PaymentCallbacks } from './callback.service.js';
export type { Transmission } from './callback-bodies.js';
export { PostbackDto, RedirectDto } from './callback.dto.js';
export type { CallbackRefusal, PostbackAnswer, RedirectAnswer, ResultAnswer } from './callback.answers.js';
export type { FieldError } from './parse-body.js';
export { redirectSignature } from './signature.js';
