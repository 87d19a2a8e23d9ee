import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import {
  type FaultDocument,
  POSTBACK_FAULTS,
  type PostbackFault,
  type PostbackFaultSettings,
  REQUEST_FAULTS,
  type RequestFault,
  type RequestFaultSettings,
} from '../../model/fault-document.js';
import { button, consolePage, option, tag } from './layout.js';

type Settings = RequestFaultSettings & PostbackFaultSettings;

interface FaultText {
  does: string;
  /** The settings that this fault has besides those of every fault. */
  settings?: readonly (keyof Settings)[];
}

const REQUESTS: Readonly<Record<RequestFault, FaultText>> = {
  resetBefore: { does: 'The connection is reset before anything is done.' },
  slow: { does: 'The request is served after a delay.', settings: ['ms'] },
  status500: { does: 'A 500 instead of the answer.', settings: ['done'] },
  html: { does: 'A 502 HTML page instead of the answer.', settings: ['done'] },
  malformed: { does: 'The answer is cut short.', settings: ['done'] },
  empty: { does: 'The answer is empty.', settings: ['done'] },
  unauthenticated: { does: '401 Unauthenticated, whatever the token.' },
  merchantNotFound: { does: '403 api:error.merchant_not_found.' },
  merchantBanned: { does: '403 api:error.merchant_banned.' },
  billNotFound: { does: '403 api:error.bill_not_found, for lists of payments.' },
  tooManyPayments: { does: '400 api:error.too_many_payments, for lists of payments.' },
  loseAnswer: {
    does: 'The request is served, then the connection is reset: a bill may exist that the shop does not know about.',
  },
};

const POSTBACKS: Readonly<Record<PostbackFault, FaultText>> = {
  drop: { does: 'The postback is never sent. A shop that asks the service still finds the payment.' },
  duplicate: { does: 'It is sent several times at once.', settings: ['copies'] },
  delay: { does: 'It is sent later.', settings: ['by'] },
  reorder: { does: 'It is held back until the next one has gone out.', settings: ['within'] },
  change: { does: 'Its fields are changed on the way.', settings: ['set', 'resign'] },
  forge: { does: 'A SUCCESS that the service never sent goes out alongside it.', settings: ['set'] },
};

export function faultsPage(faults: FaultDocument): Page {
  const requests = REQUEST_FAULTS.map((fault) =>
    faultItem('requests', fault, REQUESTS[fault], faults.requests?.[fault]),
  );
  const postbacks = POSTBACK_FAULTS.map((fault) =>
    faultItem('postbacks', fault, POSTBACKS[fault], faults.postbacks?.[fault]),
  );
  const inForce = Object.keys({ ...faults.requests, ...faults.postbacks }).length;
  return consolePage({
    title: 'Faults',
    place: 'faults',
    tag: inForce === 0 ? tag('none in force') : tag(`${inForce} in force`, 'warn'),
    lead: 'What networks and services do on a bad day. A shop must end up with the same orders as on a good one.',
    content: html`<div class="halves">
      <section class="card" aria-labelledby="requests">
        <h2 id="requests">Requests of the shop</h2>
        <ul class="faults">
          ${requests}
        </ul>
      </section>
      <div class="stack">
        <section class="card" aria-labelledby="postbacks">
          <h2 id="postbacks">Postbacks to the shop</h2>
          <ul class="faults">
            ${postbacks}
          </ul>
        </section>
        <section class="card" aria-labelledby="dice">
          <h2 id="dice">The dice</h2>
          <p class="note">The same seed and the same calls give the same faults. Every change restarts the dice.</p>
          <form class="row" method="post" action="/sandbox/console/faults/seed">
            <label>Seed<input name="seed" inputmode="numeric" value="${faults.seed ?? ''}" placeholder="1" /></label>
            <button class="quiet">Set</button>
          </form>
          ${button('/sandbox/console/faults/none', 'Turn all off')}
        </section>
      </div>
    </div>`,
  });
}

function faultItem(
  group: 'requests' | 'postbacks',
  fault: string,
  { does, settings = [] }: FaultText,
  value: number | Settings | undefined,
): Html {
  const id = `${group}-${fault}`;
  const action = `/sandbox/console/faults/${group}/${fault}`;
  const on = value !== undefined;
  const currentSettings: Settings = typeof value === 'object' ? value : { p: value };
  const fields = [group === 'requests' ? 'operation' : 'status', ...settings] as const;
  return html`<li id="${id}">
    <form method="post" action="${action}">
      <button
        class="switch"
        role="switch"
        aria-checked="${on ? 'true' : 'false'}"
        aria-labelledby="${id}-name"
        name="on"
        value="${on ? 'no' : 'yes'}"
      ></button>
    </form>
    <div>
      <p><code id="${id}-name">${fault}</code> ${on && tag(inWords(currentSettings), 'warn')}</p>
      <p class="note">${does}</p>
    </div>
    <details id="${id}-settings">
      <summary>Settings</summary>
      <form method="post" action="${action}">
        <input type="hidden" name="on" value="yes" />
        <div class="fields">
          <label
            >Probability<input
              name="p"
              inputmode="decimal"
              value="${currentSettings.p ?? ''}"
              placeholder="1"
              autocomplete="off"
          /></label>
          <label
            >Maximum occurrences<input
              name="times"
              inputmode="numeric"
              value="${currentSettings.times ?? ''}"
              placeholder="no limit"
              autocomplete="off"
          /></label>
          ${fields.filter((name) => name !== 'operation' || !isOfLists(fault)).map((name) => settingField(name, currentSettings))}
        </div>
        <button>Apply</button>
      </form>
    </details>
  </li>`;
}

function isOfLists(fault: string): boolean {
  return fault === 'billNotFound' || fault === 'tooManyPayments';
}

function inWords({ p = 1, times }: Settings): string {
  return `${p === 1 ? 'always' : `${Number((p * 100).toFixed(2))} %`}${times === undefined ? '' : `, ${times} times`}`;
}

function settingField(name: keyof Settings, currentSettings: Settings): Html {
  const value = currentSettings[name];
  const valueText = typeof value === 'object' || value === undefined ? '' : String(value);
  const text = (label: string, placeholder: string): Html =>
    html`<label
      >${label}<input name="${name}" value="${valueText}" placeholder="${placeholder}" autocomplete="off"
    /></label>`;
  const choice = (label: string, options: readonly [string, string][]): Html =>
    html`<label
      >${label}<select name="${name}">
        ${options.map(([value, words]) => option(value, words, valueText))}
      </select></label
    >`;
  switch (name) {
    case 'operation':
      return choice('Operation', [
        ['', 'both'],
        ['create', 'create'],
        ['payments', 'payments'],
      ]);
    case 'status':
      return choice('Status', [
        ['', 'both'],
        ['SUCCESS', 'SUCCESS'],
        ['FAIL', 'FAIL'],
      ]);
    case 'done':
      return choice('The request is served', [
        ['', 'as usual for this fault'],
        ['true', 'yes'],
        ['false', 'no'],
      ]);
    case 'resign':
      return choice('Re-signed', [
        ['', 'no'],
        ['true', 'yes'],
      ]);
    case 'set':
      return html`<label
        >Fields to set, one per line<textarea name="set" rows="2" placeholder="OutSum=1.00" spellcheck="false">
${Object.entries(currentSettings.set ?? {})
            .map(([field, value]) => `${field}=${value}`)
            .join('\n')}</textarea>
      </label>`;
    case 'ms':
      return text('Milliseconds', '2000');
    case 'copies':
      return text('Copies', '1');
    case 'by':
      return text('Delay by', '1m');
    case 'within':
      return text('For at most', '1m');
    case 'p':
    case 'times':
      throw new TypeError(`${name} already has a field of its own`);
  }
}

const NUMBER_SETTINGS = ['p', 'times', 'ms', 'copies'];
const FLAG_SETTINGS = ['done', 'resign'];

/** The settings are not validated yet. If the form sets nothing, the probability is 1. */
export function faultSettings(form: URLSearchParams): Record<string, unknown> | number {
  const settings: Record<string, unknown> = {};
  for (const [name, text] of form) {
    if (text.trim() === '' || name === 'on') continue;
    if (NUMBER_SETTINGS.includes(name)) settings[name] = Number(text);
    else if (FLAG_SETTINGS.includes(name)) settings[name] = text === 'true';
    else settings[name] = name === 'set' ? fieldsOf(text) : text.trim();
  }
  return Object.keys(settings).length === 0 ? 1 : settings;
}

function fieldsOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=')];
    }),
  );
}
