import { expect } from '@jest/globals';
import fc from 'fast-check';
import { EU_TOKEN, MAIN_TOKEN } from '../support/harness.js';
import { postForm, postJson, postbackFields } from '../support/http.js';
import { redirectsOf } from './paying.js';
import { anIndex, pick, step } from './step.js';

/** What somebody writes into a postback: other truths about the same bill, or somebody else's. */
const lies = fc.constantFrom<Record<string, string>>(
  { Status: 'FAIL' },
  { Status: 'SUCCESS', OutSum: '0.01' },
  { InvId: 'nobody', custom: 'nothing' },
  { CurrencyIn: 'USD', SignatureValue: 'X' },
  { TrsId: 'unknown' },
);

export const forge = step('forge', fc.record({ bill: anIndex, set: fc.option(lies) }), async (model, world, p) => {
  await world.sandbox.forge(pick(model.bills, p.bill).billId, p.set === null ? {} : { set: p.set });
});

export const replay = step(
  'replay',
  fc.record({ bill: anIndex, callback: anIndex, set: fc.option(lies), resign: fc.boolean() }),
  async (model, world, { bill, callback, set, resign }) => {
    const { callbacks } = world.sandbox.bill(pick(model.bills, bill).billId);
    if (callbacks.length === 0) return;
    await world.sandbox.replay(pick(callbacks, callback).id, { ...(set && { set }), resign });
  },
);

/** A genuine-looking postback to the route of the other shop, and bodies that are none at all. */
export const stray = step(
  'stray postback',
  fc.record({ bill: anIndex, what: fc.constantFrom('other shop', 'unknown bill', 'array', 'fields') }),
  async (model, world, { bill, what }) => {
    const { shop, orderId, billId } = pick(model.bills, bill);
    const [own, other] = shop === 'main' ? ['', '/eu'] : ['/eu', ''];
    const TrsId = what === 'unknown bill' ? 'never-made' : billId;
    const fields = postbackFields({ InvId: orderId, OutSum: '10.00', TrsId }, shop === 'main' ? MAIN_TOKEN : EU_TOKEN);
    const bodies: Partial<Record<typeof what, unknown>> = {
      array: [fields],
      fields: { ...fields, Status: { is: 'SUCCESS' }, InvId: [orderId] },
    };
    const body = bodies[what] ?? fields;
    const url = `${world.free(bill).instance.url}/postback/payment${what === 'other shop' ? other : own}`;
    const { status } = await postJson(url, body);
    expect(what === 'array' ? [400] : [200, 503]).toContain(status);
    if (status === 200) world.acknowledged.postback += 1;
  },
);

/** The payer's browser, sent once more or to the wrong page, with the digest it was given or another one. */
export const redirect = step(
  'redirect',
  fc.record({ which: anIndex, swapped: fc.boolean(), digest: fc.constantFrom('right', 'right', 'wrong', 'absent') }),
  async (model, world, { which, swapped, digest }) => {
    const { url, fields } = pick(redirectsOf(model), which);
    const { pathname } = new URL(url);
    const path = swapped ? pathname.replace(/success|fail/, (way) => (way === 'fail' ? 'success' : 'fail')) : pathname;
    const { SignatureValue = '', ...unsigned } = fields;
    const signature: Record<string, string> = {
      right: { SignatureValue },
      wrong: { SignatureValue: 'F'.repeat(32) },
      absent: {},
    }[digest];
    const { status, headers } = await postForm(world.free(which).instance.url + path, { ...unsigned, ...signature });
    expect(status).toBe({ right: 303, wrong: 403, absent: 200 }[digest]);
    if (status !== 303) return;
    world.acknowledged.redirect += 1;
    const page = await fetch(new URL(headers.get('location') ?? '', world.free(which).instance.url + path));
    expect(page.status).toBe(200);
  },
  (model) => redirectsOf(model).length > 0,
);

const share = fc.constantFrom(0.5, 1);

/** The service's postbacks go wrong from now on. */
export const postbackFaults = step(
  'postback faults',
  fc.oneof(
    share.map((p) => ({ drop: p })),
    share.map((p) => ({ duplicate: { p, copies: 3 } })),
    share.map((p) => ({ delay: { p, by: '30s' as const } })),
    share.map((p) => ({ reorder: { p, within: '30s' as const } })),
    share.map((p) => ({ forge: { p } })),
    fc.record({ p: share, set: lies, resign: fc.boolean() }).map((change) => ({ change })),
  ),
  (_model, world, postbacks) => world.setFaults({ postbacks }),
  () => true,
);

/** The service's next answers go wrong. */
export const requestFaults = step(
  'request faults',
  fc
    .tuple(
      fc.constantFrom(
        'resetBefore',
        'status500',
        'html',
        'malformed',
        'empty',
        'unauthenticated',
        'merchantBanned',
        'billNotFound',
        'tooManyPayments',
        'loseAnswer',
      ),
      fc.integer({ min: 1, max: 3 }),
    )
    .map(([fault, times]) => ({ [fault]: { times } })),
  async (_model, world, requests) => {
    world.faulty = true;
    await world.setFaults({ requests });
  },
  () => true,
);

export const noFaults = step(
  'no faults',
  fc.constant(null),
  async (_model, world) => {
    await world.sandbox.clearFaults();
  },
  () => true,
);
