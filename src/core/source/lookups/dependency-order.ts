interface Step {
  readonly assignTo: string;
  /** Unknown names count as done, and the check of the spec rules out cycles. */
  readonly dependsOn: readonly string[];
}

/**
 * Runs independent steps concurrently. Throws the first failure in the order of the steps once none is in progress,
 * without starting steps that depend on a failed one.
 */
export async function inDependencyOrder<Item extends Step>(
  steps: readonly Item[],
  work: (step: Item) => Promise<void>,
): Promise<void> {
  const byName = new Map(steps.map((step) => [step.assignTo, step]));
  const begun = new Map<string, Promise<void>>();
  const doStep = async (step: Item): Promise<void> => {
    const before = step.dependsOn.map((name) => byName.get(name)).filter((found) => found !== undefined);
    await Promise.all(before.map(begin));
    await work(step);
  };
  const begin = (step: Item): Promise<void> => {
    const inProgress = begun.get(step.assignTo) ?? doStep(step);
    begun.set(step.assignTo, inProgress);
    return inProgress;
  };
  const ends = await Promise.allSettled(steps.map(begin));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
