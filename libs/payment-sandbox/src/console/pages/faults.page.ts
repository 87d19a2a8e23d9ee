import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import {
  type FaultDocument,
  type FaultGroup,
  LIST_FAULTS,
  type PostbackFault,
  type PostbackFaultSettings,
  type RequestFault,
  type RequestFaultSettings,
  type SettingName,
  settingsOf,
} from '../../model/fault-document.js';
import { button, consolePage, option, tag } from './layout.js';

type Settings = RequestFaultSettings & PostbackFaultSettings;

const REQUESTS: Readonly<Record<RequestFault, string>> = {
  resetBefore: 'The connection is reset before anything is done.',
  slow: 'The request is served after a delay.',
  status500: 'A 500 instead of the answer.',
  html: 'A 502 HTML page instead of the answer.',
  malformed: 'The answer is cut short.',
  empty: 'The answer is empty.',
  unauthenticated: '401 Unauthenticated, whatever the token.',
  merchantNotFound: '403 api:error.merchant_not_found.',
  merchantBanned: '403 api:error.merchant_banned.',
  billNotFound: '403 api:error.bill_not_found, for lists of payments.',
  tooManyPayments: '400 api:error.too_many_payments, for lists of payments.',
  loseAnswer:
    'The request is served, then the connection is reset: a bill may exist that the shop does not know about.',
};

const POSTBACKS: Readonly<Record<PostbackFault, string>> = {
  drop: 'The postback is never sent. A shop that asks the service still finds the payment.',
  duplicate: 'It is sent several times at once.',
  delay: 'It is sent later.',
  reorder: 'It is held back until the next one has gone out.',
  change: 'Its fields are changed on the way.',
  forge: 'A SUCCESS that the service never sent goes out alongside it.',
};

interface FieldText {
  label: string;
  placeholder?: string;
  inputmode?: 'decimal' | 'numeric';
  /** The values to choose from, each in words. */
  choices?: Readonly<Record<string, string>>;
}

const FIELDS: Readonly<Record<SettingName, FieldText>> = {
  p: { label: 'Probability', placeholder: '1', inputmode: 'decimal' },
  times: { label: 'Maximum occurrences', placeholder: 'no limit', inputmode: 'numeric' },
  operation: { label: 'Operation', choices: { '': 'both', create: 'create', payments: 'payments' } },
  status: { label: 'Status', choices: { '': 'both', SUCCESS: 'SUCCESS', FAIL: 'FAIL' } },
  done: { label: 'The request is served', choices: { '': 'as usual for this fault', true: 'yes', false: 'no' } },
  resign: { label: 'Re-signed', choices: { '': 'no', true: 'yes' } },
  set: { label: 'Fields to set, one per line', placeholder: 'OutSum=1.00' },
  ms: { label: 'Milliseconds', placeholder: '2000' },
  copies: { label: 'Copies', placeholder: '1' },
  by: { label: 'Delay by', placeholder: '1m' },
  within: { label: 'For at most', placeholder: '1m' },
};

export function faultsPage(faults: FaultDocument): Page {
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
          ${faultItems('requests', REQUESTS, faults)}
        </ul>
      </section>
      <div class="stack">
        <section class="card" aria-labelledby="postbacks">
          <h2 id="postbacks">Postbacks to the shop</h2>
          <ul class="faults">
            ${faultItems('postbacks', POSTBACKS, faults)}
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

function faultItems(group: FaultGroup, texts: Readonly<Record<string, string>>, faults: FaultDocument): Html[] {
  const inForce: Partial<Record<string, number | Settings>> = faults[group] ?? {};
  return Object.entries(texts).map(([fault, does]) => faultItem(group, fault, does, inForce[fault]));
}

function faultItem(group: FaultGroup, fault: string, does: string, value: number | Settings | undefined): Html {
  const id = `${group}-${fault}`;
  const action = `/sandbox/console/faults/${group}/${fault}`;
  const on = value !== undefined;
  const currentSettings: Settings = typeof value === 'object' ? value : { p: value };
  const names = settingsOf(group, fault).filter((name) => name !== 'operation' || !LIST_FAULTS.includes(fault));
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
        <div class="fields">${names.map((name) => settingField(name, currentSettings[name]))}</div>
        <button>Apply</button>
      </form>
    </details>
  </li>`;
}

function inWords({ p = 1, times }: Settings): string {
  return `${p === 1 ? 'always' : `${Number((p * 100).toFixed(2))} %`}${times === undefined ? '' : `, ${times} times`}`;
}

function settingField(name: SettingName, value: Settings[SettingName]): Html {
  const { label, placeholder, inputmode, choices } = FIELDS[name];
  const text = value === undefined || typeof value === 'object' ? '' : String(value);
  if (choices) {
    return html`<label
      >${label}<select name="${name}">
        ${Object.entries(choices).map(([choice, words]) => option(choice, words, text))}
      </select></label
    >`;
  }
  if (name === 'set') {
    const lines = Object.entries(value ?? {}).map((pair) => pair.join('='));
    return html`<label
      >${label}<textarea name="${name}" rows="2" placeholder="${placeholder}" spellcheck="false">
${lines.join('\n')}</textarea>
    </label>`;
  }
  return html`<label
    >${label}<input
      name="${name}"
      ${inputmode && html` inputmode="${inputmode}"`}
      value="${text}"
      placeholder="${placeholder}"
      autocomplete="off"
  /></label>`;
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
  const pairs = lines.map((line) => line.split('='));
  return Object.fromEntries(pairs.map(([name = '', ...value]) => [name.trim(), value.join('=')]));
}
