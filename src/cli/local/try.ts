import { createRedactor } from '../../core/http/redact.ts';
import { externalIdOf } from '../../core/model/external-id.ts';
import { outcomeId } from '../../core/model/page-outcome.ts';
import { printable } from '../../core/printable.ts';
import { findResource } from '../../core/spec/connection/find-resource.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import { exitCodes } from '../command-error.ts';
import { type CommandResult, counted, createProgress, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { type LocalRead, readLocally } from './local-read.ts';
import { prepareRead, type ReadArguments } from './read-arguments.ts';
import { readHints } from './read-hints.ts';
import { maskDeep } from './secret-masks.ts';

/** Nothing is written anywhere. */
export async function tryResource(tools: Tools, name: string, args: ReadArguments): Promise<CommandResult> {
  const prepared = await prepareRead(tools, name, args);
  const { spec, resourceKey } = prepared;
  const read = await readLocally(tools, { ...prepared, progress: createProgress(tools) });
  const redactor = createRedactor(read.secrets);
  // An API may echo a credential anywhere.
  const shown = maskDeep(showRead(spec, resourceKey, read), (text) => redactor.values(text)) as ShownRead;
  return {
    json: shown,
    lines: linesOf(shown, tools.stdout.columns ?? 160),
    exitCode: tools.signal.aborted ? exitCodes.interrupted : read.error ? exitCodes.wrong : exitCodes.ok,
  };
}

type ShownRead = ReturnType<typeof showRead>;

function showRead(spec: ConnectorSpec, resourceKey: string, { run, calls, pages, error }: LocalRead) {
  const resource = findResource(spec, resourceKey);
  const outcomes = pages.flatMap(({ ready }) => ready.outcomes);
  const kept = new Set(outcomes.map(outcomeId));
  const records = pages.flatMap(({ page }) => page.records);
  const filtered = records.filter((record) => {
    const id = externalIdOf(record, resource.primaryKey);
    return id.ok && !kept.has(id.externalId);
  });
  return {
    resource: resource.key,
    status: run.status,
    limited: run.limited,
    requests: calls.map(({ method, url, statusCode, durationMs, attempt, errorCode, cacheHit, respBodyTruncated }) => ({
      method,
      url,
      status: statusCode,
      ms: Math.round(durationMs),
      attempt,
      error: errorCode,
      cacheHit,
      // The API's error message; pages are not shown, as their records are.
      says: statusCode !== null && statusCode >= 400 ? respBodyTruncated : null,
    })),
    records,
    filtered,
    rows: run.delivered,
    invalid: outcomes.flatMap((outcome) =>
      outcome.kind === 'quarantine'
        ? [
            {
              externalId: outcome.row.externalId,
              reasons: outcome.row.errors.map(({ path, message }) => ({ path, message })),
              record: JSON.parse(outcome.row.rawJson) as unknown,
            },
          ]
        : [],
    ),
    deleted: run.deleted,
    stats: run.stats,
    watermarkAfter: run.watermarkAfter,
    hints: readHints(resource, {
      pages: pages.map(({ page }) => page.records),
      rows: run.delivered,
      isWhole: !run.limited && error === null,
      http: spec.http,
    }),
    error,
  };
}

/** The first sentences of a refusal say why, and an API may send a whole page. */
const refusalMax = 500;

function linesOf(shown: ShownRead, columns: number): readonly string[] {
  const { resource, requests, records, filtered, rows, invalid, deleted, stats, watermarkAfter, hints, error } = shown;
  const says = requests.at(-1)?.says;
  const json = (value: unknown) => `  ${cut(JSON.stringify(value), Math.max(columns, 80) - 2)}`;
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : ['', title, ...lines]);
  return [
    ...(requests.length === 0 ? [] : ['requests']),
    ...table(
      requests.map(({ method, url, status, ms, attempt, error: code }) => [
        `  ${method}`,
        String(status ?? code ?? 'no response'),
        `${ms} ms`,
        attempt > 1 ? `${url}  (attempt ${attempt})` : url,
      ]),
    ),
    ...section('records', records.map(json)),
    ...section('filtered', filtered.map(json)),
    ...section('rows', rows.map(json)),
    ...section(
      'invalid',
      invalid.flatMap(({ externalId, reasons, record }) => [
        `  ${externalId}: ${reasons.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')}`,
        `  ${json(record)}`,
      ]),
    ),
    ...section(
      'deleted',
      deleted.map((id) => `  ${id}`),
    ),
    '',
    `${resource}: ${counted(requests.length, 'request')}, ${counted(stats.recordsIn, 'record')}: ` +
      [
        counted(rows.length, 'row'),
        `${filtered.length} filtered`,
        `${invalid.length} invalid`,
        ...(deleted.length > 0 ? [`${deleted.length} deleted`] : []),
      ].join(', '),
    ...(shown.limited && error === null ? ['There may be more: the read ended at --limit.'] : []),
    ...(watermarkAfter === null ? [] : [`The next run begins at ${watermarkAfter}.`]),
    ...section(
      'hints',
      hints.map((hint) => `  ${hint}`),
    ),
    ...(error === null ? [] : ['', `${error.code}: ${error.message}`]),
    ...section('the API says', error === null || !says ? [] : [`  ${cut(says, refusalMax)}`]),
  ];
}

const cut = (text: string, length: number): string => {
  const line = printable(text);
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
};
