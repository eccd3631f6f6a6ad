/** Keeps one org from using up shared capacity; the operator may change it per org. */
export interface OrgLimit {
  readonly default: number;
  /** The counted items, and the effect of exceeding the limit. */
  readonly about: string;
}

/** Limits by name; `orgs.limits` stores only those that differ. */
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
  oauthApps: { default: 100, about: 'OAuth apps' },
  connectSessions: { default: 10_000, about: 'connect sessions that are open' },
  apiKeys: { default: 200, about: 'API keys that are neither revoked nor expired' },
} as const satisfies Readonly<Record<string, OrgLimit>>;

export type OrgLimitName = keyof typeof orgLimits;

export const isOrgLimit = (name: string): name is OrgLimitName => Object.hasOwn(orgLimits, name);
