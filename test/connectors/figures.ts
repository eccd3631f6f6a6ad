/** What a comparison with a description has counted. */
export interface Compared {
  /** Package and version, and what it is. */
  readonly source: string;
  readonly operations: number;
  readonly parameters: number;
  readonly fields: number;
}

/** Records of one resource that a real server has shown. */
export interface SyncedResource {
  readonly resource: string;
  readonly records: number;
  /** Null: the server cannot be changed. */
  readonly changed: number | null;
  readonly deleted: number | null;
}

/** What the syncs of a real server have counted. */
export interface Synced {
  /** Name and version. */
  readonly server: string;
  readonly resources: readonly SyncedResource[];
}

/** The results of a connector; null: not done. */
export interface Figures {
  readonly key: string;
  readonly compared: Compared | null;
  readonly synced: Synced | null;
}

/** The figures as lines for a terminal. */
export function table(rows: readonly Figures[]): string {
  const lines = rows.flatMap(({ key, compared, synced }) => [
    ...(compared ? [`${key.padEnd(14)} ${countsOf(compared)} as in ${compared.source}`] : []),
    ...(synced?.resources ?? []).map(
      ({ resource, records, changed, deleted }) =>
        `${key.padEnd(14)} ${resource.padEnd(24)} ${num(records)} records ${num(changed)} changed ${num(deleted)} deleted`,
    ),
  ]);
  return lines.join('\n');
}

/** The counts of a comparison as words. */
export const countsOf = ({ operations, parameters, fields }: Compared): string =>
  `${operations} operations, ${parameters} parameters, ${fields} fields`;

const num = (count: number | null): string => (count === null ? '-' : count.toLocaleString('en')).padStart(6);
