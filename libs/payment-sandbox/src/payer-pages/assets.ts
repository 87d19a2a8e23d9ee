import { Asset } from '../common/asset.js';

/** Without scripts, the form's button sends the payer back. */
export const RETURN_SCRIPT = new Asset('return.js', 'text/javascript', `document.getElementById('return').submit();\n`);

/** Without scripts, the page reloads itself. */
export const WAIT_SCRIPT = new Asset(
  'wait.js',
  'text/javascript',
  `
const { wait } = document.querySelector('main').dataset;
let pause = 400;
async function poll() {
  try {
    const answer = await fetch(wait + '/status');
    if (answer.ok && (await answer.json()).final) return location.replace(wait);
  } catch {
    // The sandbox may be restarting: poll again.
  }
  pause = Math.min(pause * 1.1, 5000);
  setTimeout(poll, pause);
}
setTimeout(poll, pause);
`.trimStart(),
);

/** The server checks everything again, because scripts may not run. */
export const CARD_SCRIPT = new Asset(
  'card.js',
  'text/javascript',
  `
const form = document.getElementById('card-form');
const { card, expiry, cvc } = form.elements;
const button = form.querySelector('button');

const shapes = new Map([
  [card, (digits) => digits.slice(0, 19).replace(/\\d{4}(?=\\d)/g, '$& ')],
  [expiry, (digits) => digits.slice(0, 6).replace(/^[2-9]/, '0$&').replace(/^\\d\\d(?=\\d)/, '$&/')],
  [cvc, (digits) => digits.slice(0, 4)],
]);
for (const [input, shape] of shapes) {
  input.addEventListener('input', () => {
    const before = input.value.slice(0, input.selectionStart).replace(/\\D/g, '').length;
    const end = input.selectionStart === input.value.length;
    const text = shape(input.value.replace(/^\\d\\//, '0$&').replace(/\\D/g, ''));
    if (text !== input.value) {
      input.value = text;
      let caret = 0;
      for (let seen = 0; seen < before && caret < text.length; caret++) if (/\\d/.test(text[caret])) seen++;
      if (end) caret = text.length;
      input.setSelectionRange(caret, caret);
    }
    if (input.hasAttribute('aria-invalid')) tell(input, problem(input));
  });
  input.addEventListener('change', () => tell(input, problem(input)));
}

function problem(input) {
  const digits = input.value.replace(/\\D/g, '');
  if (digits === '') return input.dataset.empty;
  const right = input === card ? checks(digits) : input === cvc ? digits.length > 2 : /^(0?[1-9]|1[0-2])\\/?(20)?\\d\\d$/.test(input.value);
  return right ? '' : input.dataset.wrong;
}

function checks(digits) {
  let sum = 0;
  [...digits].reverse().forEach((digit, index) => {
    const value = Number(digit) * (1 + (index % 2));
    sum += value > 9 ? value - 9 : value;
  });
  return digits.length > 12 && sum % 10 === 0;
}

function tell(input, message) {
  let line = document.getElementById(input.name + '-error');
  if (!message) {
    line?.remove();
    input.removeAttribute('aria-invalid');
    input.removeAttribute('aria-describedby');
    return;
  }
  if (!line) {
    line = document.createElement('span');
    line.className = 'error';
    line.id = input.name + '-error';
    input.after(line);
  }
  line.textContent = message;
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-describedby', line.id);
}

form.addEventListener('submit', (event) => {
  for (const input of shapes.keys()) tell(input, problem(input));
  const wrong = form.querySelector('[aria-invalid]');
  if (wrong) {
    event.preventDefault();
    wrong.focus();
    return;
  }
  button.disabled = true;
  button.dataset.text = button.textContent;
  button.textContent = 'One moment …';
});
addEventListener('pageshow', () => {
  button.disabled = false;
  if (button.dataset.text) button.textContent = button.dataset.text;
});

for (const link of document.querySelectorAll('.cards a')) {
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    card.value = link.dataset.card;
    expiry.value = link.dataset.expiry;
    cvc.value = '123';
    for (const input of shapes.keys()) tell(input, '');
    button.focus();
  });
}
`.trimStart(),
);
