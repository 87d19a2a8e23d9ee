import { html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import { spacedCard, TEST_CARDS } from '../../payments/test-cards.js';
import { BEHAVIOURS } from '../behaviours.js';
import { consolePage, tag } from './layout.js';

/** What the sandbox does, and the basis of each behaviour. */
export function behavioursPage(): Page {
  return consolePage({
    title: 'Behaviours',
    place: 'behaviours',
    lead: 'What the sandbox does: documented where the interface specification says so, assumed where it is silent and this is our choice.',
    content: html`<section class="card">
        <h2 id="behaviours">By section of the specification</h2>
        <div class="scroll flows" role="region" aria-labelledby="behaviours" tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">Section</th>
                <th scope="col">Basis</th>
                <th scope="col">Behaviour</th>
              </tr>
            </thead>
            <tbody>
              ${BEHAVIOURS.map(
                ({ section, basis, does }) =>
                  html`<tr>
                    <td>${section}</td>
                    <td>${tag(basis, basis === 'documented' ? 'good' : 'warn')}</td>
                    <td>${does}</td>
                  </tr> `,
              )}
            </tbody>
          </table>
        </div>
      </section>
      <section class="card">
        <h2 id="cards">Test cards</h2>
        <div class="scroll flows" role="region" aria-labelledby="cards" tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">Card</th>
                <th scope="col">The payment</th>
              </tr>
            </thead>
            <tbody>
              ${TEST_CARDS.map(
                ({ number, does }) =>
                  html`<tr>
                    <td><code>${spacedCard(number)}</code></td>
                    <td>${does}</td>
                  </tr> `,
              )}
            </tbody>
          </table>
        </div>
      </section>
      <section class="card" aria-labelledby="json">
        <h2 id="json">The control interface</h2>
        <p>
          Programs can do everything here too, as <a href="/sandbox/console/interface">JSON</a>:
          <a href="/sandbox/requests">requests</a>, <a href="/sandbox/shops">shops</a>,
          <a href="/sandbox/bills">bills</a>, <a href="/sandbox/faults">faults</a>, <a href="/sandbox/clock">clock</a>.
        </p>
      </section>`,
  });
}
