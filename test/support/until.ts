/** Polls until the answer fits, for what happens in the background. */
export async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, timeoutMs = 10_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`Waited ${timeoutMs} ms for ${String(fits)}. The last answer: ${JSON.stringify(answer)}`);
  }
}
