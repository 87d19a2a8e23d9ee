import type { Field, Input, OperatorAction } from './operator-action.js';
import { filterOf } from '../common/filter.js';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';

/** Why the action failed, shown above the form with its input. */
export interface Refused {
  readonly status: number;
  readonly text: string;
  readonly input: Input;
}

export function confirmPage(
  context: PageContext,
  { title, place, content, fields = [], label, noteRequired }: OperatorAction,
  form: { readonly action: string; readonly csrfToken: string },
  refused: Refused | undefined,
): Page {
  return {
    status: refused?.status,
    title,
    place,
    message: refused && { tone: 'bad', text: refused.text },
    content: html`<section class="card" aria-label="Details">${content}</section>
      <form class="card narrow" method="post" action="${context.link(form.action, filterOf(context.query))}">
        <input type="hidden" name="csrf" value="${form.csrfToken}" />
        ${fields.map((field) => inputOf(field, refused?.input(field.name)))}
        ${inputOf({ ...NOTE_FIELD, required: noteRequired }, refused?.input('note'))}
        <p class="actions">
          <button>${label}</button>
          <a class="button quiet" href="${context.link(place)}">Cancel</a>
        </p>
        <p class="soft">This is recorded under your name: ${context.operator}.</p>
      </form>`,
  };
}

const NOTE_FIELD: Field = {
  name: 'note',
  label: 'Note',
  hint: 'Say why: it is kept in the log, for whoever looks at this next.',
};

function inputOf({ name, label, hint, required, inputMode }: Field, value: string | undefined): Html {
  return html`<p class="field">
    <label for="${name}">${label}${!required && html` <span class="soft">(optional)</span>`}</label>
    <input
      id="${name}"
      name="${name}"
      value="${value}"
      maxlength="8192"
      autocomplete="off"
      aria-describedby="${name}-hint"
      ${required && html` required`}
      ${inputMode !== undefined && html` inputmode="${inputMode}"`}
    />
    <span class="soft" id="${name}-hint">${hint}</span>
  </p>`;
}
