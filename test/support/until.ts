/** Asks again until the answer fits, for what others do on their own. */
export async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, limitMs = 10_000): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`It never came to this. The last answer: ${JSON.stringify(answer)}`);
  }
}
