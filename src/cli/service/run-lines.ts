import type { CallLogRow, RunRow } from '../../core/resources/run.ts';

export function statsOf({ statsJson }: RunRow): string {
  const { recordsIn, recordsOut, skipped, deleted, quarantined } = statsJson;
  const rest = { skipped, deleted, quarantined };
  return [
    `${recordsIn} in`,
    `${recordsOut} out`,
    ...Object.entries(rest).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : [])),
  ].join(', ');
}

export const errorOf = ({ error }: RunRow): string => (error ? `${error.code}: ${error.message}` : '');

export const isFinal = ({ status }: RunRow): boolean => status !== 'queued' && status !== 'running';

/** The URL, which may be long, is last. */
export const callCells = ({
  sequence,
  method,
  url,
  statusCode,
  errorCode,
  durationMs,
  attempt,
  cacheHit,
}: CallLogRow): readonly string[] => [
  String(sequence),
  method,
  String(statusCode ?? errorCode ?? (cacheHit ? 'cache' : 'no response')),
  durationMs === null ? '' : `${Math.round(durationMs)} ms`,
  [url, ...(attempt > 1 ? [`(attempt ${attempt})`] : []), ...(cacheHit ? ['(cached)'] : [])].join('  '),
];
