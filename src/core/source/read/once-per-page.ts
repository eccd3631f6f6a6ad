/** A check that runs once for each page: when its turn comes, or earlier when it is prefetched. */
export interface OncePerPage {
  early(): boolean;
  atTurn(): boolean;
}

/** Makes such a check. */
export function oncePerPage(ask: () => boolean): OncePerPage {
  let response: boolean | null = null;
  const early = (): boolean => {
    response ??= ask();
    return response;
  };
  const atTurn = (): boolean => {
    const known = early();
    response = null;
    return known;
  };
  return { early, atTurn };
}
