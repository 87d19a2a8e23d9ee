import { type Html, html } from '../../common/html.js';
import type { Callback } from '../../model/entities.js';
import { button } from './layout.js';

/** Every field of 2.5 can be set, even one that the postback lacks. */
const FIELDS = ['Status', 'InvId', 'OutSum', 'CurrencyIn', 'Commission', 'TrsId', 'custom', 'SignatureValue'];

const FIELD_PREFIX = 'field.';

export function replayForms(callback: Callback): Html {
  const action = `/sandbox/console/callbacks/${callback.id}/replay`;
  const names = [...new Set([...FIELDS, ...Object.keys(callback.fields)])];
  return html`<div class="replay">
    ${button(action, 'Replay')}
    <details id="change-${callback.id}">
      <summary>Change and replay</summary>
      <form method="post" action="${action}">
        <div class="fields">
          ${names.map(
            (name) =>
              html`<label
                >${name}<input name="${FIELD_PREFIX}${name}" value="${callback.fields[name] ?? ''}" autocomplete="off"
              /></label>`,
          )}
        </div>
        <p>
          <label><input type="checkbox" name="resign" />Re-sign, as only the service could</label>
        </p>
        <button>Send</button>
      </form>
    </details>
  </div>`;
}

export function changedFields(form: URLSearchParams, { fields }: Callback): Record<string, string> {
  const before = new Map(Object.entries(fields));
  const set = new Map<string, string>();
  for (const [key, value] of form) {
    const name = key.startsWith(FIELD_PREFIX) ? key.slice(FIELD_PREFIX.length) : '';
    // A text field drops line breaks.
    if (name !== '' && value !== (before.get(name) ?? '').replace(/[\r\n]/g, '')) set.set(name, value);
  }
  return Object.fromEntries(set);
}
