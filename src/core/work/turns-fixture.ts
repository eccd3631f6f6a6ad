import { vi } from 'vitest';

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

/** As {@link countingTurns}, with a clock on which every step takes longer than a slice. */
export async function countingSlices<Result extends object>(work: () => Promise<Result>) {
  let now = 0;
  using clock = vi.spyOn(performance, 'now');
  clock.mockImplementation(() => (now += 20));
  return await countingTurns(work);
}
