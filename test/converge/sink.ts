import type { UpstreamResponse } from '../support/upstream/upstream.ts';

/** How a receiver says that it does not take a record. */
export const refusalForms = [
  'by name',
  'by name, to be sent again',
  'by a number',
  'as bare ids',
  'under another name',
  'with 422',
  'with 400',
  'with 500',
  'by hanging up',
] as const;
type RefusalForm = (typeof refusalForms)[number];

/** A row that a receiver holds. */
type SinkRow = Readonly<Record<string, unknown>>;

/** A customer's receiver: it drops ids that it knows, and applies what it accepts. */
export interface Sink {
  /** Null: it takes everything. `left`: how many more requests it refuses in. */
  refusal: { readonly form: RefusalForm; readonly ids: ReadonlySet<string>; left: number } | null;
  /** The latest rows of a resource by external id. */
  rows(resource: string): ReadonlyMap<string, SinkRow>;
  /** Null: the connection ends without a response. */
  respond(webhookId: string, body: string): UpstreamResponse | null;
}

interface SentRecord {
  readonly op: 'upsert' | 'append' | 'update' | 'delete';
  readonly externalId: string;
  readonly data?: SinkRow;
}

/** A receiver without rows. */
export function createSink(): Sink {
  const tables = new Map<string, Map<string, SinkRow>>();
  const applied = new Set<string>();
  const tableOf = (resource: string): Map<string, SinkRow> => {
    const known = tables.get(resource) ?? new Map<string, SinkRow>();
    tables.set(resource, known);
    return known;
  };
  const apply = (resource: string, records: readonly SentRecord[]): void => {
    const rows = tableOf(resource);
    for (const { op, externalId, data = {} } of records) {
      if (op === 'delete') rows.delete(externalId);
      else rows.set(externalId, data);
    }
  };
  const sink: Sink = {
    refusal: null,
    rows: tableOf,
    respond(webhookId, body) {
      if (applied.has(webhookId)) return { status: 409, body: '{"duplicate":true}' };
      const sent = JSON.parse(body) as { readonly resourceKey: string; readonly records: readonly SentRecord[] };
      const { refusal } = sink;
      const refused = sent.records.filter(({ externalId }) => refusal?.ids.has(externalId));
      if (!refusal || refused.length === 0) {
        applied.add(webhookId);
        apply(sent.resourceKey, sent.records);
        return { status: 200, body: '' };
      }
      refusal.left -= 1;
      if (refusal.left <= 0) sink.refusal = null;
      const response = refusalOf(refusal.form, refused);
      if (response?.status !== 200) return response;
      applied.add(webhookId);
      apply(
        sent.resourceKey,
        sent.records.filter((record) => !refused.includes(record)),
      );
      return response;
    },
  };
  return sink;
}

function refusalOf(form: RefusalForm, refused: readonly SentRecord[]): UpstreamResponse | null {
  const ids = refused.map(({ externalId }) => externalId);
  const said = (rejected: readonly unknown[]): UpstreamResponse => ({
    status: 200,
    body: JSON.stringify({ rejected }),
  });
  switch (form) {
    case 'by name':
      return said(ids.map((externalId) => ({ externalId, message: 'no' })));
    case 'by name, to be sent again':
      return said(ids.map((externalId) => ({ externalId, retryable: true })));
    case 'by a number':
      return said(ids.map((externalId) => ({ externalId: Number(externalId) })));
    case 'as bare ids':
      return said(ids);
    case 'under another name':
      return said(ids.map((id) => ({ id })));
    case 'with 422':
      return { status: 422, body: '{}' };
    case 'with 400':
      return { status: 400, body: '' };
    case 'with 500':
      return { status: 500, body: '' };
    case 'by hanging up':
      return null;
  }
}
