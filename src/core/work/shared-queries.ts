/**
 * Merges concurrent look-ups of one group into one query. A look-up during a query waits for the next one, which serves
 * all waiting callers. So no result is older than its look-up, and each group has one query at a time.
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
 * Finds rows by key, those of concurrent callers in one query, see {@link sharedQueries}. A flood of unknown keys takes
 * one database connection.
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
