/**
 * Merges concurrent look-ups of one group into one query: whoever looks something up while a query of the same group is in
 * progress waits for the next one, which is one for all who wait. So no result is older than its look-up, and there is one
 * query of a group at a time.
 *
 * @param query returns the result for all look-ups of a group, in the order in which they came.
 */
export function sharedQueries<LookUp, Result>(
  query: (lookUps: readonly [LookUp, ...LookUp[]]) => Promise<Result>,
  groupOf: (lookUp: LookUp) => string,
): (lookUp: LookUp) => Promise<Result> {
  const inProgress = new Map<string, Promise<Result>>();
  const next = new Map<string, { readonly others: LookUp[]; readonly result: Promise<Result> }>();
  const begin = (group: string, lookUps: readonly [LookUp, ...LookUp[]]): Promise<Result> => {
    const result = query(lookUps);
    inProgress.set(group, result);
    const forget = () => {
      if (inProgress.get(group) === result) inProgress.delete(group);
    };
    result.then(forget, forget);
    return result;
  };
  return (lookUp) => {
    const group = groupOf(lookUp);
    const current = inProgress.get(group);
    if (!current) return begin(group, [lookUp]);
    const waiting = next.get(group);
    if (waiting) {
      waiting.others.push(lookUp);
      return waiting.result;
    }
    const others: LookUp[] = [];
    const beginNext = () => {
      next.delete(group);
      return begin(group, [lookUp, ...others]);
    };
    const result = current.then(beginNext, beginNext);
    next.set(group, { others, result });
    return result;
  };
}

/**
 * Finds rows by their keys, those of concurrent callers in one query, as {@link sharedQueries} does: a flood of keys that
 * nobody has takes one connection of the database.
 */
export function sharedLookUp<Row>(
  find: (keys: readonly string[]) => Promise<readonly Row[]>,
  keyOf: (row: Row) => string,
): (key: string) => Promise<Row | undefined> {
  const rowsOf = sharedQueries(
    async (keys: readonly string[]) => new Map((await find(keys)).map((row) => [keyOf(row), row])),
    () => '',
  );
  return async (key) => (await rowsOf(key)).get(key);
}
