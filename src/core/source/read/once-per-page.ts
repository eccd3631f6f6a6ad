/** A check that runs once per page: at its turn, or earlier if the page is prefetched. */
export interface OncePerPage {
  early(): boolean;
  atTurn(): boolean;
}

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
