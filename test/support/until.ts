/** Polls until the answer fits, for what happens in the background. */
export async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, limitMs = 10_000): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`The expected answer never came. The last one: ${JSON.stringify(answer)}`);
  }
}
