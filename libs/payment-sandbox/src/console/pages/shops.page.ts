import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Shop } from '../../model/entities.js';
import { consolePage, option, tag } from './layout.js';

const LEAD =
  'What the service knows of a shop. The specification speaks of shop settings without listing them: their names are ours.';

export function shopsPage(shops: readonly Shop[]): Page {
  return consolePage({
    title: 'Shops',
    place: 'shops',
    lead: LEAD,
    content: html`<section class="card">
        <div class="scroll" role="region" aria-label="Shops" tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">Shop</th>
                <th scope="col">Result URL</th>
                <th scope="col">Commission</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              ${shops.map(
                (shop) =>
                  html`<tr>
                    <td>
                      <a href="${addressOf(shop.id)}">${shop.id}</a>
                      ${shop.name && html`<br /><span class="note">${shop.name}</span>`}
                    </td>
                    <td><code>${shop.resultUrl ?? 'none'}</code></td>
                    <td>${shop.commissionPercent} %</td>
                    <td>${shop.banned ? tag('blocked', 'bad') : tag('open', 'good')}</td>
                  </tr> `,
              )}
            </tbody>
          </table>
        </div>
      </section>
      <section class="card" aria-labelledby="new">
        <h2 id="new">A new shop</h2>
        <form class="fields" method="post" action="/sandbox/console/shops">
          <label>Id<input name="id" autocomplete="off" required /></label>
          <label>API token<input name="apiToken" autocomplete="off" spellcheck="false" required /></label>
          <button>Make it</button>
        </form>
      </section>`,
  });
}

/** One shop's settings; `address` is the sandbox's own, as the reader knows it. */
export function shopPage(shop: Shop, address: string, saved: boolean): Page {
  const text = (name: keyof Shop, label: string, more: { type?: string; note?: string } = {}): Html =>
    html`<label
      >${label}<input
        type="${more.type ?? 'text'}"
        name="${name}"
        value="${String(shop[name] ?? '')}"
        autocomplete="off"
        spellcheck="false"
      />${more.note && html`<span class="note">${more.note}</span>`}</label
    >`;
  const choice = (name: 'postbackFormat' | 'postbackSignature', label: string, values: readonly string[]): Html =>
    html`<label
      >${label}<select name="${name}">
        ${values.map((value) => option(value, value, shop[name]))}
      </select></label
    >`;
  return consolePage({
    title: shop.id,
    place: 'shops',
    tag: shop.banned ? tag('blocked', 'bad') : tag('open', 'good'),
    lead: LEAD,
    ...(saved && { message: { tone: 'good' as const, text: 'The settings are saved.' } }),
    content: html`<section class="card" aria-labelledby="settings">
        <h2 id="settings">Settings</h2>
        <form method="post" action="${addressOf(shop.id)}">
          <div class="fields wide">
            ${text('name', 'Name', { note: 'What payers read. Without one, the id.' })} ${text('apiToken', 'API token')}
            ${text('successUrl', 'Success URL', { type: 'url' })} ${text('failUrl', 'Fail URL', { type: 'url' })}
            ${text('resultUrl', 'Result URL', { type: 'url' })}
            ${text('ledgerUrl', 'Ledger', { type: 'url', note: 'The shop’s own records, to compare with.' })}
            ${text('commissionPercent', 'Commission, percent')} ${text('maxPayments', 'Most payments in one list')}
            ${choice('postbackFormat', 'Postback format', ['json', 'form'])}
            ${choice('postbackSignature', 'Postback signature', ['redirect-formula', 'none'])}
          </div>
          <p>
            <label
              ><input type="checkbox" name="banned" ${shop.banned && html` checked`} />Blocked by the service</label
            >
          </p>
          <button>Save</button>
        </form>
      </section>
      <section class="card" aria-labelledby="environment">
        <h2 id="environment">For the shop’s environment</h2>
        <pre tabindex="0">
PAYMENT_ACCEPTANCE_API_BASE_URL=${address}
PAYMENT_ACCEPTANCE_SHOP_ID=${shop.id}
PAYMENT_ACCEPTANCE_API_TOKEN=${shop.apiToken}</pre>
      </section>`,
  });
}

export function addressOf(shopId: string): string {
  return `/sandbox/console/shops/${encodeURIComponent(shopId)}`;
}

/** The settings of a posted form, to be checked as those of the control interface are. */
export function shopSettings(form: URLSearchParams): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [name, text] of form) {
    if (name === 'banned') continue;
    if (name === 'maxPayments') settings[name] = Number(text || Number.NaN);
    else settings[name] = /Url$|^name$/.test(name) ? text.trim() || null : text.trim();
  }
  return { ...settings, banned: form.has('banned') };
}
