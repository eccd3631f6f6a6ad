/** Makes the rows and the results of two stores comparable: ids become names, times become what they say. */

type Row = Readonly<Record<string, unknown>>;

/** The rows of a connection by table, columns in camelCase, each table in the order of its key. */
export interface Rows {
  readonly connections: readonly Row[];
  readonly lanes: readonly Row[];
  /** In the order of `seq`. */
  readonly runs: readonly Row[];
  readonly partitions: readonly Row[];
  readonly recordState: readonly Row[];
  readonly recordPartitions: readonly Row[];
  readonly listedDeletions: readonly Row[];
  readonly quarantine: readonly Row[];
  readonly runPages: readonly Row[];
  readonly outboxes: readonly Row[];
  readonly outboxParts: readonly Row[];
  readonly runDimensions: readonly Row[];
}

/** Columns that name the org, or that only one store has. */
const leftOut = new Set([
  'orgId',
  'workspaceId',
  'specId',
  'displayName',
  'externalCustomerId',
  'createdAt',
  'recordedAt',
  'deletedAt',
  'overdueSince',
  'triggerClass',
  'endedNo',
]);

/** Columns with the number of a lane or a run. */
const numbered = new Set([
  'laneId',
  'seq',
  'seenRun',
  'proofRun',
  'missedRun',
  'clearedRun',
  'listedRun',
  'listRun',
  'flaggedRun',
]);

const isTime = (name: string, value: unknown): value is string =>
  typeof value === 'string' && (/(At|Since)$/.test(name) || /^\d{4}-\d{2}-\d{2}T/.test(value));

/** Compares a store with itself: what it was before, and what its ids stand for. */
export class Observer {
  #times = new Map<string, string>();
  #names = new Map<unknown, string>();

  #generations = new Map<unknown, string>();

  /** The rows as anybody would tell them. A time is `now` when the last operation set it, otherwise `before`. */
  observe(rows: Rows): unknown {
    this.#learn(rows);
    const times = new Map<string, string>();
    const tables = Object.entries(rows).map(([table, list]: [string, readonly Row[]]) => [
      table,
      list.map((row) =>
        this.#plainRow(row, (name, value) => {
          const key = `${table} ${this.#keyOf(row)} ${name}`;
          times.set(key, value);
          return this.#times.get(key) === value ? 'before' : 'now';
        }),
      ),
    ]);
    this.#times = times;
    return Object.fromEntries(tables);
  }

  /** A result of an operation, with names for ids. */
  plain(value: unknown): unknown {
    if (Buffer.isBuffer(value)) return value.toString('hex');
    if (Array.isArray(value)) return value.map((item) => this.plain(item));
    if (typeof value !== 'object' || value === null) return this.#names.get(value) ?? value;
    return this.#plainRow(value as Row, () => 'time');
  }

  #plainRow(row: Row, timeOf: (name: string, value: string) => string): Row {
    const columns = Object.entries(row).filter(([name]) => !leftOut.has(name));
    return Object.fromEntries(
      columns.map(([name, value]) => {
        if (isTime(name, value)) return [name, timeOf(name, value)];
        if (numbered.has(name)) return [name, this.#numberName(name, value)];
        if (name === 'id' && typeof value === 'number') return [name, this.#numberName('laneId', value)];
        return [name, name === 'generation' ? this.#generationName(value) : this.plain(value)];
      }),
    );
  }

  #numberName(column: string, value: unknown): unknown {
    if (typeof value !== 'number') return value;
    return this.#names.get(`${column === 'laneId' ? 'lane' : 'seq'} ${value}`) ?? 'unknown';
  }

  /** Random names, in the order in which they are seen. */
  #generationName(value: unknown): string {
    const name = this.#generations.get(value) ?? `generation ${this.#generations.size}`;
    this.#generations.set(value, name);
    return name;
  }

  #keyOf(row: Row): string {
    return JSON.stringify(
      ['id', 'runId', 'laneId', 'externalId', 'partition', 'pageNo', 'dimension', 'no', 'path', 'again'].map(
        (name) => row[name],
      ),
    );
  }

  #learn({ connections, lanes, runs }: Rows): void {
    for (const { id } of connections) this.#names.set(id, 'the connection');
    for (const { id, resourceKey } of lanes) this.#names.set(`lane ${String(id)}`, `lane of ${String(resourceKey)}`);
    for (const [index, { id, seq }] of runs.entries()) {
      this.#names.set(id, `run ${index + 1}`);
      this.#names.set(`seq ${String(seq)}`, `of run ${index + 1}`);
    }
  }
}
