/** A limit of an org, so that no org takes what all share. The operator may change it for one org. */
export interface OrgLimit {
  /** The limit of an org that the operator has given no other number. */
  readonly default: number;
  /** What is counted, and what happens beyond it. */
  readonly about: string;
}

/** Every limit by its name, as `orgs.limits` stores those that differ. */
export const orgLimits = {
  runsAtOnce: { default: 10, about: 'concurrent runs; more are queued' },
  queuedRuns: { default: 2000, about: 'queued runs; more are rejected with 429' },
  queuedRunsPerResource: {
    default: 100,
    about: 'queued runs of one resource of a connection; more are rejected with 429',
  },
  requestedDeliveries: {
    default: 1000,
    about: 'tests and redeliveries of events in 24 hours; more are rejected with 429',
  },
  recoveries: { default: 100, about: 'recoveries of webhook endpoints in 24 hours; more are rejected with 429' },
  idleHookRequests: {
    default: 1000,
    about:
      'requests to hooks in an hour that are rejected, ignored or duplicates; more are not logged, and get 429 instead of 401',
  },
  hookRequests: {
    default: 1000,
    about: 'accepted requests to hooks in an hour that are stored; more are followed by a run, and mostly not logged',
  },
  connections: { default: 10_000, about: 'connections; more are rejected with 409, as all below' },
  specs: { default: 1000, about: 'specs, by their keys' },
  versionsPerSpec: { default: 500, about: 'versions of one spec' },
  specMebibytes: { default: 256, about: 'MiB of all versions of specs together' },
  schedules: { default: 10_000, about: 'schedules' },
  schedulesPerResource: { default: 20, about: 'schedules of one resource of a connection' },
  hooksPerConnection: { default: 100, about: 'hooks of one connection' },
  workspaces: { default: 100, about: 'workspaces' },
  apiKeys: { default: 200, about: 'API keys that are neither revoked nor expired' },
} as const satisfies Readonly<Record<string, OrgLimit>>;

/** The name of a limit. */
export type OrgLimitName = keyof typeof orgLimits;

/** Whether there is a limit of that name. */
export const isOrgLimit = (name: string): name is OrgLimitName => Object.hasOwn(orgLimits, name);
