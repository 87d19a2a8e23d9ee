import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Bill } from '../../model/entities.js';
import type { Check, Finding } from '../ledger/compare.js';
import type { LedgerComparison } from '../ledger/ledgers.service.js';
import { consolePage, count, tag } from './layout.js';

const SHOWN_FINDINGS = 50;

/** Compares what the sandbox knows with what the shops have recorded. */
export function ledgerPage(comparisons: readonly LedgerComparison[]): Page {
  return consolePage({
    title: 'Invariants',
    place: 'ledger',
    tag: comparisonTag(comparisons),
    lead: 'The truth of this sandbox, compared with what each shop has recorded. Red is a difference: money that one side does not know of. Amber waits for the shop or for a person.',
    content: comparisons.length === 0 ? nothingToCompare() : html`${comparisons.map(section)}`,
  });
}

/** Sums up all comparisons. */
export function comparisonTag(comparisons: readonly LedgerComparison[]): Html {
  if (comparisons.every(({ absent }) => absent)) return tag('not compared');
  const unread = comparisons.filter(({ problem, absent }) => problem !== null && !absent).length;
  const findings = comparisons.flatMap(({ checks }) => checks.flatMap((check) => check.findings));
  const differences = findings.filter(({ kind }) => kind === 'difference').length;
  if (differences > 0) return tag(count(differences, 'difference'), 'bad');
  if (unread > 0) return tag('cannot be read', 'warn');
  return findings.length > 0 ? tag(`${findings.length} still to come`, 'warn') : tag('all agree', 'good');
}

function section({ url, shops, problem, absent, checks }: LedgerComparison): Html {
  return html`<section class="card" id="ledger-${shops[0]}">
    <h2>${shops.join(', ')}</h2>
    <p class="note">Recorded at <code>${url}</code></p>
    ${
      problem === null
        ? html`<ul class="checks">
            ${checks.map(checkItem)}
          </ul>`
        : html`<p class="message ${absent ? '' : 'warn'}">
            Its records cannot be read: ${problem}. Is the shop running, and is this
            <a href="/sandbox/console/shops">its ledger’s address</a>?
          </p>`
    }
  </section>`;
}

function checkItem({ rule, holds, findings }: Check): Html {
  const differences = findings.filter(({ kind }) => kind === 'difference');
  const open = findings.filter(({ kind }) => kind === 'open');
  return html`<li>
    <p class="title">
      <strong>${rule}</strong>
      ${differences.length > 0 && tag(count(differences.length, 'difference'), 'bad')}
      ${open.length > 0 && tag(`${open.length} to come`, 'warn')}
      ${findings.length === 0 && (holds > 0 ? tag(`${holds} hold`, 'good') : tag('none yet'))}
    </p>
    ${
      findings.length > 0 &&
      html`<ul>
        ${[...differences, ...open].slice(0, SHOWN_FINDINGS).map(findingItem)}
        ${findings.length > SHOWN_FINDINGS && html`<li>… and ${findings.length - SHOWN_FINDINGS} more.</li>`}
      </ul>`
    }
  </li>`;
}

function findingItem({ kind, billId, orderId, what }: Finding): Html {
  const name = `Order ${orderId || '(none)'}`;
  return html`<li class="${kind === 'difference' ? 'bad' : 'warn'}">
    ${billId === null ? name : html`<a href="/sandbox/console/bills/${billId}">${name}</a>`}: ${what}
  </li>`;
}

/** What the shop has recorded of one bill, if it shows its records. */
export function billRecords(comparisons: readonly LedgerComparison[], { id, shopId }: Bill): Html | false {
  const comparison = comparisons.find(({ shops }) => shops.includes(shopId));
  if (!comparison) return false;
  const findings = comparison.checks.flatMap((check) => check.findings).filter(({ billId }) => billId === id);
  return html`<section class="card" aria-labelledby="records">
    <p class="title">
      <strong id="records">The shop’s records</strong> ${comparisonTag([
        { ...comparison, checks: [{ rule: '', holds: 0, findings }] },
      ])}
    </p>
    ${
      findings.length > 0 &&
      html`<ul class="findings">
        ${findings.map(({ kind, what }) => html`<li class="${kind === 'difference' ? 'bad' : 'warn'}">${what}</li>`)}
      </ul>`
    }
    <p><a href="/sandbox/console/ledger">All invariants</a></p>
  </section>`;
}

function nothingToCompare(): Html {
  return html`<section class="card">
    <p>
      No shop shows its records. In <a href="/sandbox/console/shops">a shop’s settings</a>, enter the address at which
      it answers with the JSON of <code>PaymentOperations.readLedger()</code>, as the sample shop’s
      <code>/api/ledger</code> does.
    </p>
  </section>`;
}
