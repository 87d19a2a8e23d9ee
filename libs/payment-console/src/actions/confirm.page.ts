import type { Field, Input, OperatorAction } from './operator-action.js';
import { filterOf } from '../common/filter.js';
import { html, type Html } from '../common/html.js';
import type { Message, Page, PageContext } from '../common/page-context.js';

export interface Confirmation {
  readonly action: OperatorAction;
  readonly formAction: string;
  readonly csrfToken: string;
  readonly status?: number;
  /** Why the action failed, shown above the form with its input. */
  readonly message?: Message;
  readonly input?: Input;
}

export function confirmPage(
  context: PageContext,
  { action, formAction, csrfToken, status, message, input }: Confirmation,
): Page {
  const { title, place, content, fields, label, noteRequired = false } = action;
  const filled: Input = input ?? (() => '');
  return {
    ...(status !== undefined && { status }),
    title,
    place,
    message,
    content: html`<section class="card" aria-label="Details">${content}</section>
      <form class="card narrow" method="post" action="${context.link(formAction, filterOf(context.query))}">
        <input type="hidden" name="csrf" value="${csrfToken}" />
        ${fields.map((field) => inputOf(field, filled(field.name)))}
        ${inputOf({ ...NOTE_FIELD, required: noteRequired }, filled('note'))}
        <p class="actions">
          <button>${label}</button>
          <a class="button quiet" href="${context.link(place)}">Cancel</a>
        </p>
        <p class="soft">This is recorded under your name: ${context.operator}.</p>
      </form>`,
  };
}

const NOTE_FIELD: Omit<Field, 'required'> = {
  name: 'note',
  label: 'Note',
  hint: 'Say why: it is kept in the log, for whoever looks at this next.',
};

function inputOf({ name, label, hint, required, inputMode }: Field, value: string): Html {
  return html`<p class="field">
    <label for="${name}">${label}${!required && html` <span class="soft">(optional)</span>`}</label>
    <input
      id="${name}"
      name="${name}"
      value="${value}"
      maxlength="1000"
      autocomplete="off"
      aria-describedby="${name}-hint"
      ${required && html` required`}
      ${inputMode !== undefined && html` inputmode="${inputMode}"`}
    />
    <span class="soft" id="${name}-hint">${hint}</span>
  </p>`;
}
