/** The fields of the fake API that a cursor can be, and how the API compares them. */
const day = 86_400_000;

/** When a record changed last: milliseconds since the epoch, and its number among all changes. */
export interface Change {
  readonly at: number;
  readonly seq: number;
}

interface CursorField {
  /** As a spec declares it. */
  readonly type: 'datetime' | 'date' | 'epoch_s' | 'epoch_ms' | 'integer' | 'string';
  readonly format?: string;
  /** As a record has it. */
  value(change: Change): string | number;
  /** What the API sorts and filters by. */
  rank(change: Change): number;
  /** The rank of a value that a request sends. */
  rankOf(sent: string): number;
}

const iso = (at: number): string => new Date(at).toISOString();
const seconds = (at: number): number => Math.floor(at / 1000) * 1000;

/** `stamp` is thirty days behind; `local` is the wall clock of Berlin, without an offset. */
const cursorFields = {
  modified: { type: 'datetime', value: ({ at }) => iso(at), rank: ({ at }) => at, rankOf: Date.parse },
  stamp: {
    type: 'datetime',
    value: ({ at }) => iso(at - 30 * day),
    rank: ({ at }) => at - 30 * day,
    rankOf: Date.parse,
  },
  local: { type: 'datetime', value: ({ at }) => wallClock(at), rank: ({ at }) => at, rankOf: Date.parse },
  written: {
    type: 'datetime',
    format: '%d/%m/%Y %H:%M:%S',
    value: ({ at }) => iso(at).replace(/^(....)-(..)-(..)T(.{8}).*$/, '$3/$2/$1 $4'),
    rank: ({ at }) => seconds(at),
    rankOf: Date.parse,
  },
  epoch_s: {
    type: 'epoch_s',
    value: ({ at }) => Math.floor(at / 1000),
    rank: ({ at }) => seconds(at),
    rankOf: (sent) => Number(sent) * 1000,
  },
  epoch_ms: { type: 'epoch_ms', value: ({ at }) => at, rank: ({ at }) => at, rankOf: Number },
  day: {
    type: 'date',
    value: ({ at }) => iso(at).slice(0, 10),
    rank: ({ at }) => Math.floor(at / day) * day,
    rankOf: Date.parse,
  },
  seq: { type: 'integer', value: ({ seq }) => seq, rank: ({ seq }) => seq, rankOf: Number },
  text: {
    type: 'string',
    value: ({ seq }) => String(seq).padStart(8, '0'),
    rank: ({ seq }) => seq,
    // Texts are compared as texts: one of another length is behind all.
    rankOf: (sent) => (sent.length === 8 ? Number(sent) : Number.POSITIVE_INFINITY),
  },
} as const satisfies Readonly<Record<string, CursorField>>;

/** The name of one of them. */
export type CursorName = keyof typeof cursorFields;

/** All names, in a fixed order. */
const cursorNames = Object.keys(cursorFields) as readonly CursorName[];

/** The field as what all have in common. */
export const cursorField = (name: CursorName): CursorField => cursorFields[name];

/** The values of all fields of a record. */
export const cursorValues = (change: Change): Readonly<Record<string, string | number>> =>
  Object.fromEntries(cursorNames.map((name) => [name, cursorFields[name].value(change)]));

const berlin = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Berlin',
  dateStyle: 'short',
  timeStyle: 'medium',
});

const wallClock = (at: number): string =>
  `${berlin.format(at).replace(' ', 'T')}.${String(at % 1000).padStart(3, '0')}`;
