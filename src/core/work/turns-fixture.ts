/** The result of `work`, and how often the event loop came round meanwhile. */
export async function countingTurns<Result extends object>(work: () => Promise<Result>) {
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work();
  done = true;
  return { ...result, turns };
}
