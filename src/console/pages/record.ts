import * as v from 'valibot';
import {
  findQuarantineVisits,
  findRecordFacts,
  type QuarantineVisit,
  type RecordFacts,
} from '../../../db/queries/runs/records/record-facts.ts';
import { QueryText } from '../../api/query-inputs.ts';
import { found } from '../../core/errors.ts';
import { timeOfId } from '../../core/ids.ts';
import { heading } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { counted } from '../parts/numbers.ts';
import { badge } from '../parts/status.ts';
import { facts, nothing, section, table } from '../parts/table.ts';
import { ago, time } from '../parts/time.ts';
import { page } from '../route.ts';
import { ConnectionParams, openConnection } from './connection-frame.ts';
import { addressOf } from './quarantine.ts';

/** The page of a record, known or not. */
export const recordAddress = (connectionId: string, resource: string, key: string): string =>
  `/console/connections/${connectionId}/record?${new URLSearchParams({ resource, key }).toString()}`;

const keyCharsMax = 65_536;

/** What is known of a record by its key; its data is nowhere but in quarantine. Throws not_found (connection, resource). */
export const recordPage = page({
  path: '/connections/:id/record',
  params: ConnectionParams,
  query: v.object({ resource: QueryText, key: v.pipe(QueryText, v.maxLength(keyCharsMax)) }),
  handle: async ({ scope, params, query: { resource, key } }, deps) => {
    const { connection, resourceKeys } = await openConnection(deps, scope, params.id);
    const resourceKey = found(
      resourceKeys.find((one) => one === resource),
      'Resource',
    );
    const record = { connectionId: connection.id, resourceKey, externalId: key };
    const [known, visits] = await Promise.all([
      findRecordFacts(deps.db, scope, record),
      findQuarantineVisits(deps.db, scope, record),
    ]);
    return {
      title: `Record ${key}`,
      section: 'connections',
      trail: [
        ['Connections', '/console/connections'],
        [connection.displayName, `/console/connections/${connection.id}`],
      ],
      body: html`${heading(`Record ${key}`, {
        about: html`${resourceKey} of ${connection.displayName}`,
        state: stateOf(known, visits),
      })}
        ${known ? knownFacts(known) : unknown(visits.length > 0)}
        ${visits.length === 0 ? '' : section('In quarantine', visitTable(visits), html`<a class="button" href="${addressOf(connection.id, { resource: resourceKey })}">All of the resource</a>`)}
        <p class="hint">Of a record that was delivered, only its key and a digest of its content are kept: not when it was
        first read, and none of its data.</p>`,
    };
  },
});

const isOpen = ({ resolvedAt }: QuarantineVisit): boolean => resolvedAt === null;

function stateOf(known: RecordFacts | undefined, visits: readonly QuarantineVisit[]): Html {
  if (visits.some(isOpen)) return badge('warn', 'Quarantined');
  if (visits.some(({ isRequeued }) => isRequeued)) return badge('busy', 'Requeued');
  if (!known) return badge('idle', 'Not known');
  if (known.status === 'deleted') return badge('idle', 'Deleted');
  if (known.isFlagged) return badge('warn', 'To be deleted');
  if (known.missed > 0) return badge('warn', 'Missing');
  return known.status === 'quarantined' ? badge('warn', 'Quarantined') : badge('good', 'Delivered');
}

const knownFacts = (known: RecordFacts): Html =>
  facts([
    ['At the destination', atDestination(known)],
    [
      'Recorded',
      known.changedAt === null ? html`<span class="muted">the resource does not keep it</span>` : time(known.changedAt),
    ],
    ['Cursor of its last version', known.cursor === null ? '–' : html`<code>${known.cursor}</code>`],
    [
      'Last complete read with it',
      known.seenBy === null ? html`<span class="muted">none, or no run compares</span>` : runLink(known.seenBy),
    ],
    ...(known.missed > 0 ? [['Missing since', counted(known.missed, 'complete read')] as const] : []),
    ...(known.flaggedBy ? [['Read as deleted by', runLink(known.flaggedBy)] as const] : []),
    ...(known.partitions.length > 0 ? [['Partitions', known.partitions.join(', ')] as const] : []),
    ...known.listed.map(
      ({ state, deletedAt, run }) =>
        [
          'In a list of deleted records',
          html`${listedWords[state]}${deletedAt === null ? '' : html`, deleted at <code>${deletedAt}</code>`}${run ? html`, by ${runLink(run)}` : ''}`,
        ] as const,
    ),
  ]);

function atDestination({ status, isUndelivered, isFlagged }: RecordFacts): string {
  if (isUndelivered) return 'nothing of it';
  if (status === 'deleted') return 'deleted';
  if (status === 'quarantined') return 'an earlier version, if one was delivered';
  return isFlagged
    ? 'its last version, until a run deletes it'
    : 'its last version; it is skipped until its content changes';
}

const listedWords: Readonly<Record<RecordFacts['listed'][number]['state'], string>> = {
  before: 'named before its partition was read',
  pending: 'named after it was read as live: the next run decides',
  due: 'to be deleted',
  done: 'done, or older than the record',
};

const runLink = ({ id, createdAt }: { readonly id: string; readonly createdAt: string }): Html =>
  html`<a href="/console/runs/${id}">the run of ${ago(createdAt)}</a>`;

const unknown = (isQuarantined: boolean): Html =>
  html`<div class="empty">${
    isQuarantined
      ? nothing('It was never delivered.', 'It is known from quarantine alone.')
      : nothing(
          'No row knows this record.',
          'It was not read yet, its key is another one, or its resource keeps nothing of its records (mode replace, or no detection of changes).',
        )
  }</div>`;

const visitTable = (visits: readonly QuarantineVisit[]): Html =>
  table({
    caption: 'In quarantine',
    rows: visits,
    empty: null,
    columns: [
      {
        head: 'When',
        cell: ({ id }) => html`<a href="/console/quarantine/${id}">${ago(timeOfId(id).toISOString())}</a>`,
      },
      { head: 'State', narrow: 'lead', cell: visitBadge },
      { head: 'What was wrong', kind: 'wide', cell: ({ message }) => message || 'no reason is stored' },
      { head: 'Run', cell: ({ runId }) => html`<a href="/console/runs/${runId}">Run</a>` },
      { head: 'Resolved', narrow: 'named', cell: ({ resolvedAt }) => ago(resolvedAt, 'not yet') },
    ],
  });

function visitBadge({ resolvedAt, isRequeued }: QuarantineVisit): Content {
  if (isRequeued) return badge('busy', 'Requeued');
  return resolvedAt === null ? badge('warn', 'Open') : badge('good', 'Resolved');
}
