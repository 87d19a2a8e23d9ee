import { redirectSignature } from 'nestjs-payment-acceptance/callbacks';
import { MAIN_TOKEN } from './harness.js';

/** Fields of a redirect, signed like the service does. */
export function redirectFields(
  fields: { InvId: string; OutSum: string; CurrencyIn?: string; custom?: string },
  token: string = MAIN_TOKEN,
): Record<string, string> {
  return {
    CurrencyIn: 'RUB',
    ...fields,
    SignatureValue: redirectSignature(fields.OutSum, fields.InvId, token),
  };
}

/** Fields of a postback, signed with the formula that most deployments use. */
export function postbackFields(
  fields: { InvId: string; OutSum: string; TrsId: string; Status?: string },
  token: string = MAIN_TOKEN,
): Record<string, string> {
  return { Status: 'SUCCESS', Commission: '0.00', ...redirectFields(fields, token) };
}

export function postForm(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
}

export function postJson(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'manual',
  });
}
