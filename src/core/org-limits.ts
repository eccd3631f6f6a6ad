/** A limit of an org, so that no org takes what all share. The operator may change it for one org. */
export interface OrgLimit {
  /** For an org that the operator has given no other number. */
  readonly default: number;
  /** What is counted, and what happens beyond it. */
  readonly about: string;
}

/** Every limit by its name, as `orgs.limits` stores those that differ. */
export const orgLimits = {
  runsAtOnce: { default: 10, about: 'Runs under way at once; more wait for their turn.' },
} as const satisfies Readonly<Record<string, OrgLimit>>;

/** The name of a limit. */
export type OrgLimitName = keyof typeof orgLimits;
