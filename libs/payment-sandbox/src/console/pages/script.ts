import { Asset } from '../../common/asset.js';

/**
 * Polls a console page every second and patches only what has changed, so that opened sections, typed text and focus
 * stay.
 */
export const CONSOLE_SCRIPT = new Asset(
  'console.js',
  'text/javascript',
  `
const PAUSE_MS = 1000;
let etag = '';

async function poll() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html', 'if-none-match': etag } });
      if (answer.status === 200) {
        etag = answer.headers.get('etag') ?? '';
        const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
        if (fresh) localise(fresh);
        if (fresh) sync(document.getElementById('main'), fresh);
      }
    } catch {
      // The sandbox may be restarting: poll again.
    }
  }
  setTimeout(poll, PAUSE_MS);
}

function sync(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeName !== next.nodeName || old.nodeType !== 1) return old.replaceWith(next);
  for (const { name } of [...old.attributes]) if (name !== 'open' && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  let at = old.firstChild;
  for (const child of [...next.childNodes]) {
    const same = child.id ? [...old.children].find(({ id }) => id === child.id) : at && !at.id && at.nodeName === child.nodeName && at;
    if (!same) old.insertBefore(child, at);
    else if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    if (same) sync(same, child);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

// Shows local time with UTC beside it, and the day if one was shown or the local day differs.
function localise(root) {
  for (const element of root.querySelectorAll('time')) {
    const [, day, clock] = /^(?:(.*), )?([\\d:.]+) UTC$/.exec(element.textContent) ?? [];
    const at = new Date(element.dateTime);
    if (clock === undefined || at.getTimezoneOffset() === 0) continue;
    const [hours, minutes] = [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0'));
    const sameDay = at.getDate() === at.getUTCDate();
    const own = at.getDate() + ' ' + MONTHS[at.getMonth()] + ' ' + at.getFullYear();
    const utcDay = sameDay ? '' : at.getUTCDate() + ' ' + MONTHS[at.getUTCMonth()] + ', ';
    element.textContent =
      (day !== undefined || !sameDay ? own + ', ' : '') + hours + ':' + minutes + clock.slice(5) + ' (' + utcDay + clock + ' UTC)';
  }
}

localise(document);
document.documentElement.classList.add('scripts');
document.addEventListener('click', async ({ target }) => {
  const id = target.dataset?.copy;
  if (id === undefined) return;
  await navigator.clipboard.writeText(document.getElementById(id).textContent);
  target.textContent = 'Copied';
});

setTimeout(poll, PAUSE_MS);
`.trimStart(),
);
