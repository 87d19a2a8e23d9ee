import type { Callback, Payment } from '../../model/entities.js';
import type { Html } from '../../common/html.js';
import { count, tag, type Tone } from './layout.js';

/** Where a bill stands, in one word or two. */
export function billState(payments: readonly Payment[]): [text: string, tone: Tone] {
  const paid = payments.filter(({ status }) => status === 'SUCCESS').length;
  if (paid > 1) return [`paid ${paid} times`, 'warn'];
  if (paid === 1) return ['paid', 'good'];
  if (payments.some(({ status }) => status === 'NEW' || status === 'PROCESS')) return ['processing', 'warn'];
  return payments.length > 0 ? ['failed', 'bad'] : ['not paid yet', ''];
}

/** Where a postback stands. */
export function callbackState({ state, tries }: Callback): [text: string, tone: Tone] {
  switch (state) {
    case 'delivered':
      return ['delivered', 'good'];
    case 'givenUp':
      return ['given up', 'bad'];
    case 'dropped':
      return ['dropped', 'warn'];
    case 'pending':
      return tries.length > 0 ? ['will be sent again', 'warn'] : ['on its way', ''];
  }
}

/** The postbacks of a bill, summed up. */
export function callbacksTag(callbacks: readonly Callback[]): Html {
  if (callbacks.length === 0) return tag('none');
  const stuck = callbacks.map(callbackState).filter(([, tone]) => tone === 'bad' || tone === 'warn');
  if (stuck.length === 0) return tag(count(callbacks.length, 'postback'), 'good');
  const worst = stuck.find(([, tone]) => tone === 'bad') ?? stuck[0];
  return tag(`${stuck.length} of ${callbacks.length}: ${worst?.[0] ?? ''}`, worst?.[1]);
}
