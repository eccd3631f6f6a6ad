/**
 * What the service promises of security, each with how its figure reads. The figures come from the tests: a promise that
 * no test of a run has shown counts as broken.
 */
export const promises = {
  ssrfReached: { says: 'attacks that reach a forbidden address', of: 'vectors' },
  ssrfFalseBlocks: { says: 'harmless addresses that are refused', of: 'vectors' },
  canariesReached: { says: 'requests that reach a listener on loopback through a running API', of: 'attempts' },
  hostileDatabaseEnds: { says: 'processes that a hostile PostgreSQL ends or freezes', of: 'sessions' },
  hostileDatabaseLagMs: {
    says: 'the longest that a hostile PostgreSQL keeps a process from all else',
    of: 'sessions',
    most: 1000,
    unit: 'ms',
  },
  hostileDatabaseMemory: {
    says: 'the most memory of a process with 16 sessions to hostile PostgreSQLs at once',
    of: 'sessions',
    most: 500,
    unit: 'MB',
  },
  limitsExceeded: { says: 'limits of an org that requests at the same moment exceed', of: 'limits' },
  listMemory: { says: 'the most memory of four lists of 240 MB at once', of: 'lists', most: 1000, unit: 'MB' },
  largeLists: { says: 'lists of large rows that four readers fill the API with', of: 'kinds of lists' },
  wholeLists: {
    says: 'lists of the API and the console that are read whole, or whose length nothing bounds',
    of: 'lists',
  },
  starvedRuns: { says: 'runs that wait until those of a flooding or silent org have ended', of: 'runs' },
  slotShare: { says: 'runs of a flooding org under way beyond its limit', of: 'looks' },
  slowedByResponses: { says: 'runs that responses to another org slow down', of: 'runs' },
  badInput5xx: { says: 'bad inputs with a 5xx for a response', of: 'inputs' },
  textsStuck: {
    says: 'hostile texts in slots of specs, params, secrets and responses whose run has not ended after 30 s',
    of: 'texts',
  },
  textsInternal: { says: 'hostile texts that end in an unexpected error', of: 'texts' },
  crossOrg: { says: 'endpoints that show or change something of another org', of: 'endpoints' },
  foreignTables: { says: 'ways by which an org reaches tables of another at one destination', of: 'ways' },
  operatorUrl: { says: 'texts that show an org more of the default receiver than its origin', of: 'texts' },
  hostileContained: { says: 'hostile expressions not contained in 3 s by the evaluator', of: 'expressions' },
  hostileRestarts: {
    says: 'hostile expressions after which the API or the worker is another process',
    of: 'expressions',
  },
  forgedReceipts: { says: 'receipts in a destination, not ours, that a worker takes or ends by', of: 'receipts' },
  forgedInputs: { says: 'inputs without a seal for it that a worker acts on', of: 'inputs' },
  // Checked here and not in the tests: a machine that is busy with other things delays everything.
  hostilePreviewMs: { says: 'the slowest response to a hostile preview', of: 'previews', most: 3000, unit: 'ms' },
  hostileHealthMs: { says: 'the 99th percentile of /api/health meanwhile', of: 'probes', most: 200, unit: 'ms' },
  othersPreviewMs: {
    says: 'the slowest preview of an org while another sends 100 hostile ones',
    of: 'previews',
    most: 3000,
    unit: 'ms',
  },
  heldUpBySpecs: { says: 'floods of specs that keep another org from the API for 5 s', of: 'floods' },
  notReplaced: { says: 'processes that froze, looped or were killed and were not replaced', of: 'processes' },
  tdsProcesses: { says: 'processes that a hostile SQL Server ends', of: 'attacks' },
  tdsVictim: { says: 'requests of another org without a response meanwhile', of: 'requests' },
  tdsUnhandled: {
    says: 'changed responses of a SQL Server that cost more than their session',
    of: 'responses',
  },
  tdsLoopMs: {
    says: 'the longest the process was busy at a stretch meanwhile',
    of: 'responses',
    most: 2000,
    unit: 'ms',
  },
  // 1.2 s on a machine of its own; here the hostile expressions have its cores.
  killedBackMs: { says: 'a killed API serves again after', of: 'kills', most: 4000, unit: 'ms' },
  plainHashes: { says: 'plain hashes in the code for which no reason is listed', of: 'hashes' },
  plantedSecrets: { says: 'planted secrets found, in 9 spellings and every place', of: 'searches' },
  keyRotation: { says: 'runs that fail while keys are rotated', of: 'runs' },
  forgedEmbedTokens: { says: 'forged embed tokens taken', of: 'tokens' },
  confusedCredentials: { says: 'credentials of one kind that open an endpoint of another', of: 'requests' },
  forgedOauthStates: { says: 'forged, expired or replayed OAuth states and codes taken', of: 'states and codes' },
  livingKeys: { says: 'API keys that work after they were revoked with the one that made them', of: 'keys' },
  capturedRequests: {
    says: 'captured requests to a hook that start a run each, or hide one of the upstream',
    of: 'repetitions',
  },
  openedDownloads: { says: 'downloads other than the pinned ones that are opened', of: 'downloads' },
  plantedFiles: { says: 'files and folders of others in the cache that are used', of: 'files and folders' },
  foreignPages: { says: 'pages of others to which the Temporal UI of npm start responds', of: 'requests' },
  tokenCalls: { says: 'token requests when runs meet a token that is over', of: 'runs', most: 1 },
} as const satisfies Readonly<Record<string, SecurityPromise>>;

/** Names of the promises. */
export type PromiseName = keyof typeof promises;

/** One promise. */
export interface SecurityPromise {
  /** What is counted. */
  readonly says: string;
  /** Out of what. */
  readonly of: string;
  /** The count that still keeps the promise; absent: 0. */
  readonly most?: number;
  /** Of a count that is a measurement; absent: it is a share. */
  readonly unit?: 'ms' | 'MB';
}
