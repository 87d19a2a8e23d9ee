import type { ShopCheck } from '../../callbacks/shop-check.service.js';
import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Shop } from '../../model/entities.js';
import { button, consolePage, option, shopAddress, table, tag, time } from './layout.js';

const LEAD =
  'What the service knows about a shop. The specification mentions shop settings without listing them: their names are ours.';

const CHECKBOXES = [
  ['banned', 'Blocked by the service'],
  ['billAddresses', 'Uses success_url, fail_url and return_url of each bill'],
  ['roundAmounts', 'Rounds amounts with more than two decimals'],
] as const;

export function shopsPage(shops: readonly Shop[]): Page {
  return consolePage({
    title: 'Shops',
    place: 'shops',
    lead: LEAD,
    content: html`<section class="card">
        ${table('Shops', ['Shop', 'Result URL', 'Commission', 'State'], shops.map(shopRow))}
      </section>
      <section class="card" aria-labelledby="new">
        <h2 id="new">A new shop</h2>
        <form class="fields" method="post" action="/sandbox/console/shops">
          <label>Id<input name="id" autocomplete="off" required /></label>
          <label>API token<input name="apiToken" autocomplete="off" spellcheck="false" required /></label>
          <button>Create</button>
        </form>
      </section>`,
  });
}

function shopRow({ id, name, resultUrl, commissionPercent, banned }: Shop): Html {
  return html`<tr>
    <td><a href="${shopAddress(id)}">${id}</a> ${name && html`<br /><span class="note">${name}</span>`}</td>
    <td><code>${resultUrl ?? 'none'}</code></td>
    <td>${commissionPercent} %</td>
    <td>${banned ? tag('blocked', 'bad') : tag('open', 'good')}</td>
  </tr> `;
}

/** @param address of the sandbox, as the browser knows it */
export function shopPage(shop: Shop, address: string, saved: boolean, check?: ShopCheck): Page {
  const text = (name: keyof Shop, label: string, options: { type?: string; note?: string } = {}): Html =>
    html`<label id="${name}"
      >${label}<input
        type="${options.type ?? 'text'}"
        name="${name}"
        value="${String(shop[name] ?? '')}"
        autocomplete="off"
        spellcheck="false"
      />${options.note && html`<span class="note">${options.note}</span>`}</label
    >`;
  const choice = (
    name: 'postbackFormat' | 'postbackSignature' | 'creationSuccess',
    label: string,
    values: readonly string[],
  ): Html =>
    html`<label id="${name}"
      >${label}<select name="${name}">
        ${values.map((value) => option(value, value, shop[name]))}
      </select></label
    >`;
  return consolePage({
    title: shop.id,
    place: 'shops',
    tag: shop.banned ? tag('blocked', 'bad') : tag('open', 'good'),
    lead: LEAD,
    ...(saved && { message: { tone: 'good' as const, text: 'Settings saved.' } }),
    content: html`<section class="card" aria-labelledby="settings">
        <h2 id="settings">Settings</h2>
        <form method="post" action="${shopAddress(shop.id)}">
          <div class="fields wide">
            ${text('name', 'Name', { note: 'Shown to payers. If empty, they see the id.' })}
            ${text('apiToken', 'API token')} ${text('successUrl', 'Success URL', { type: 'url' })}
            ${text('failUrl', 'Fail URL', { type: 'url' })} ${text('resultUrl', 'Result URL', { type: 'url' })}
            ${text('commissionPercent', 'Commission, percent')} ${text('maxPayments', 'Maximum payments per list')}
            ${choice('postbackFormat', 'Postback format', ['json', 'form'])}
            ${choice('postbackSignature', 'Postback signature', ['redirect-formula', 'none'])}
            ${choice('creationSuccess', 'Type of the success field in creation answers', ['text', 'boolean'])}
          </div>
          ${CHECKBOXES.map(
            ([name, label]) =>
              html`<p id="${name}">
                <label><input type="checkbox" name="${name}" ${shop[name] && html` checked`} />${label}</label>
              </p>`,
          )}
          <button>Save</button>
        </form>
      </section>
      ${checkSection(shop, check)}
      <section class="card" aria-labelledby="environment">
        <h2 id="environment">For the shop’s environment</h2>
        <pre tabindex="0">
PAYMENT_ACCEPTANCE_API_BASE_URL=${address}
PAYMENT_ACCEPTANCE_SHOP_ID=${shop.id}
PAYMENT_ACCEPTANCE_API_TOKEN=${shop.apiToken}</pre>
      </section>`,
  });
}

const ADDRESSES = { resultUrl: 'Result URL', successUrl: 'Success URL', failUrl: 'Fail URL' } as const;
const VERDICTS = { good: ['works', 'good'], warn: ['check', 'warn'], bad: ['does not work', 'bad'] } as const;

function checkSection(shop: Shop, check: ShopCheck | undefined): Html {
  return html`<section class="card" aria-labelledby="check">
    <h2 id="check">Check my shop</h2>
    <p class="note">
      Sends postbacks and redirects to these addresses, as the service would: for an order that cannot exist, with wrong
      signatures and correct ones. They should not change anything in the shop.
    </p>
    ${button(`${shopAddress(shop.id)}/check`, 'Check')}
    ${
      check &&
      html`<p class="note">${time(check.at)}:</p>
        <ul class="checks">
          ${check.addresses.map(({ setting, url, status, verdict, says }) => {
            const [word, tone] = url === null ? (['not set', ''] as const) : VERDICTS[verdict];
            return html`<li>
              ${tag(word, tone)} <strong>${ADDRESSES[setting]}</strong>
              ${url !== null && html`<code>${url}</code>`} ${url !== null && (status ?? 'no answer')}
              <p>${says}.</p>
            </li> `;
          })}
        </ul>`
    }
  </section>`;
}

/** The settings are not validated yet: they are checked like those of the control interface. */
export function shopSettings(form: URLSearchParams): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [name, text] of form) {
    if (CHECKBOXES.some(([checkbox]) => checkbox === name)) continue;
    if (name === 'maxPayments') settings[name] = Number(text || Number.NaN);
    else settings[name] = /Url$|^name$/.test(name) ? text.trim() || null : text.trim();
  }
  for (const [name] of CHECKBOXES) settings[name] = form.has(name);
  return settings;
}
