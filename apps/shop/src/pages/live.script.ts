import { Asset } from './asset.js';

/** Shows the order's new state as soon as the server sends it. Without scripts, the page reloads itself. */
export const LIVE_SCRIPT = new Asset(
  'live.js',
  'text/javascript',
  `
const region = document.getElementById('live');
let source;

function open() {
  source = new EventSource(region.dataset.from);
  source.onmessage = ({ data }) => {
    const { version, title, html, final } = JSON.parse(data);
    if (version !== region.dataset.version) {
      const isFocused = region.contains(document.activeElement);
      region.innerHTML = html;
      if (isFocused) region.focus();
      document.title = title;
      region.dataset.version = version;
    }
    if (final) source.close();
  };
  // The browser reopens a stream that ends, but not one that was refused (too many watchers).
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(open, 5000);
  };
}

open();
addEventListener('pagehide', () => source.close());
addEventListener('pageshow', ({ persisted }) => persisted && open());
`.trimStart(),
);
