import type { Posted, PostedBody, PostedRecord } from './posted.ts';

/** What receivers remember of requests, to see whether the service keeps its promises. */
export interface SentRequests {
  /** A request has arrived, whatever its outcome. */
  arrive(posted: Posted, request: PostedBody): void;
  /** The records of it that its receiver has taken. */
  acknowledge(posted: Posted, records: readonly PostedRecord[]): void;
}

interface SentOptions {
  /** Of the destination. */
  readonly parallelism: number;
  readonly onViolation: (line: string) => void;
}

/** No request was sent yet. */
export function createSentRequests({ parallelism, onViolation }: SentOptions): SentRequests {
  /** Bodies by id. */
  const bodies = new Map<string, string>();
  /** Ids by the receiver and the version that it has acknowledged under them. */
  const acknowledged = new Map<string, string>();
  /** The last version that a receiver has acknowledged of a record. */
  const versions = new Map<string, number>();
  /**
   * The last place of a run at a receiver, or of each record there where requests overtake each other. An attempt that
   * was replaced may still send to an earlier receiver.
   */
  const places = new Map<string, readonly number[]>();

  const checkOrder = ({ url, id }: Posted, { runId, resourceKey, batch, records }: PostedBody): void => {
    // What comes once more comes after all others of its batch.
    if (batch.part.endsWith('r')) return;
    const place = [batch.sequence, ...batch.part.split('.').map(Number)];
    const keys = parallelism === 1 ? [''] : records.map(({ externalId }) => externalId);
    for (const key of keys) {
      const last = places.get(`${url} ${runId}/${key}`);
      if (last && !isAfter(place, last))
        onViolation(
          `${resourceKey}: ${id} of ${runId} has place ${place.join('.')}, which is not after ${last.join('.')}`,
        );
      places.set(`${url} ${runId}/${key}`, place);
    }
  };

  const checkRecord = (posted: Posted, { resourceKey }: PostedBody, record: PostedRecord): void => {
    const { externalId, data } = record;
    const under = acknowledged.get(keyOf(posted, record));
    if (under !== undefined)
      onViolation(
        `${resourceKey}: ${externalId} ${data?.version ?? 'deleted'} is sent under ${posted.id} after ${under}`,
      );
    const last = versions.get(`${posted.url}/${externalId}`) ?? 0;
    if (data && data.version < last)
      onViolation(`${resourceKey}: ${externalId} version ${data.version} is sent after version ${last}`);
  };

  return {
    arrive(posted, request) {
      const { id, body } = posted;
      const before = bodies.get(id);
      bodies.set(id, body);
      if (request.id !== id) onViolation(`${id} is sent with a body of ${request.id}`);
      if (before === body) return;
      if (before !== undefined) return onViolation(`${request.resourceKey}: ${id} comes again with other bytes`);
      checkOrder(posted, request);
      for (const record of request.records) checkRecord(posted, request, record);
    },
    acknowledge(posted, records) {
      for (const record of records) {
        acknowledged.set(keyOf(posted, record), posted.id);
        if (!record.data) continue;
        versions.set(`${posted.url}/${record.externalId}`, record.data.version);
        // From now on it can be deleted once more.
        acknowledged.delete(deletionOf(posted, record));
      }
    },
  };
}

const keyOf = (posted: Posted, record: PostedRecord): string =>
  record.hash === undefined ? deletionOf(posted, record) : `${posted.url}/${record.externalId}/${record.hash}`;

const deletionOf = ({ url }: Posted, { externalId }: PostedRecord): string => `${url}/${externalId}/deleted`;

/** Halves of a request come in its place: `1.0` and `1.1` after `0` and before `2`. */
function isAfter(place: readonly number[], last: readonly number[]): boolean {
  const index = place.findIndex((part, at) => part !== last[at]);
  return index !== -1 && (place[index] ?? 0) > (last[index] ?? -1);
}
