const json = { 'content-type': 'application/json' };

/**
 * One request to a server that may be killed at any moment: its `body` is parsed if it
 * is JSON, or undefined where no whole answer came.
 * @param {string | URL} url
 * @param {{ method?: string; body?: unknown; form?: Record<string, string>; timeoutMs?: number }} [options]
 */
export async function request(url, { method = 'GET', body, form, timeoutMs = 8_000 } = {}) {
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }),
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    const text = await response.text();
    return { status: response.status, body: parsed(text), location: response.headers.get('location') };
  } catch {
    return undefined;
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
