import type { BillDetails, RecordedCallback } from 'nestjs-payment-acceptance/operations';
import { list, textOf, times } from './text.js';

const KINDS = {
  postback: 'Postback',
  'redirect-success': 'Success redirect',
  'redirect-fail': 'Fail redirect',
} as const;

export function callbackTitle({ kind, status }: RecordedCallback): string {
  return kind === 'postback' ? `${KINDS[kind]} ${status ?? ''}`.trim() : KINDS[kind];
}

/** How the callback was judged, sentence by sentence. */
export function callbackReasons(callback: RecordedCallback, bill: Pick<BillDetails, 'billId'>): string[] {
  return [
    digestOf(callback),
    corroborationOf(callback),
    bill.billId === null
      ? 'The bill has no id at the service, so the service could not be asked about it.'
      : outcomeOf(callback),
  ];
}

function digestOf({ kind, digest }: RecordedCallback): string {
  const postback = kind === 'postback';
  switch (digest) {
    case 'match':
      return postback
        ? "Its digest matches the shop's token. That alone proves nothing: the payer sees the same digest in the redirect."
        : "Its digest matches the shop's token. It covers the amount and the order, not the result.";
    case 'mismatch':
      return postback
        ? "Its digest does not match the shop's token: someone else may have sent it, or the service signs differently. It only prompts a check, so it was accepted."
        : "Its digest does not match the shop's token.";
    case 'absent':
      return 'It carries no digest, which proves nothing either way.';
  }
}

function corroborationOf({ corroboration }: RecordedCallback): string {
  const named = (result: string): string[] =>
    Object.entries(corroboration).flatMap(([name, comparison]) =>
      comparison === result ? [COMPARED_FIELDS[name]?.label ?? name] : [],
    );
  const [agree, differ, absent] = [named('match'), named('mismatch'), named('absent')];
  if (agree.length + differ.length + absent.length === 0) {
    return 'Its fields were not compared with the bill: it arrived before the bill was known.';
  }
  const sentences = [
    differ.length > 0 && `It differs from our bill in ${list(differ)}.`,
    agree.length > 0 && `It matches our bill in ${list(agree)}.`,
    absent.length > 0 && `It does not state ${list(absent)}.`,
    differ.length > 0 &&
      'This has no effect: a callback is matched to its bill by id, and only what the service says counts.',
  ];
  return sentences.filter(Boolean).join(' ');
}

function outcomeOf({ kind, status, pending, asks, outcome }: RecordedCallback): string {
  const asserts = kind === 'postback' && (status === 'SUCCESS' || status === 'FAIL');
  if (pending) {
    return asks === 0
      ? 'It scheduled a check of the bill.'
      : `The service was asked ${times(asks)}, but its list does not show this yet. It will be asked again.`;
  }
  if (outcome === 'confirmed') return "The service's list shows a payment that matches it.";
  if (outcome === 'unconfirmed') {
    return `The service was asked ${times(asks + 1)}, and its list shows no such payment. Nothing was changed, and no event was sent.`;
  }
  if (asserts) return 'It was closed without asking the service, because its bill did not become known in time.';
  return kind === 'postback'
    ? 'Its status is undocumented, so it claims nothing; the bill was checked.'
    : 'The bill was checked because of it. A redirect makes no claim that could be confirmed.';
}

/** Retention may have removed the callback's value. */
export function comparedFields({ corroboration, fields }: RecordedCallback, bill: BillDetails) {
  return Object.entries(COMPARED_FIELDS).flatMap(([name, { field, ours }]) => {
    const result = corroboration[name];
    const value = fields[field];
    const received = value === undefined || value === null ? undefined : textOf(value);
    return result === undefined ? [] : [{ name: field, received, ours: bill[ours], result }];
  });
}

const COMPARED_FIELDS: Readonly<Record<string, { label: string; field: string; ours: OwnField }>> = {
  order: { label: 'the order', field: 'InvId', ours: 'orderId' },
  amount: { label: 'the amount', field: 'OutSum', ours: 'amount' },
  currency: { label: 'the currency', field: 'CurrencyIn', ours: 'currency' },
  custom: { label: 'custom', field: 'custom', ours: 'custom' },
};

type OwnField = 'orderId' | 'amount' | 'currency' | 'custom';
