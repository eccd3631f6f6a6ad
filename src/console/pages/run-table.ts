import type { RunLine } from '../../../db/queries/runs/run-columns.ts';
import { timeOfId } from '../../core/ids.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { count, duration } from '../parts/numbers.ts';
import { runBadge } from '../parts/status.ts';
import { type Column, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';

interface RunTableOptions {
  /** Absent if all runs are of one connection. */
  readonly nameOf?: (connectionId: string) => string;
  readonly empty?: Content;
  /** What a run waits for; absent: it is not shown. */
  readonly waitOf?: (run: RunLine) => Content;
  /** The column with which runs are selected. */
  readonly select?: Column<RunLine>;
}

export const runTable = (
  rows: readonly RunLine[],
  { nameOf, empty = 'No runs yet.', waitOf = () => null, select }: RunTableOptions,
): Html =>
  table({
    caption: 'Runs',
    columns: [
      ...(select ? [select] : []),
      {
        head: 'Run',
        narrow: 'lead',
        cell: (run) => html`<a href="/console/runs/${run.id}">${ago(timeOfId(run.id).toISOString())}</a>`,
      },
      ...(nameOf
        ? [
            {
              head: 'Connection',
              kind: 'wide' as const,
              cell: (run: RunLine) =>
                html`<a href="/console/connections/${run.connectionId}">${nameOf(run.connectionId)}</a>`,
            },
          ]
        : []),
      { head: 'Resource', narrow: 'lead', cell: (run) => run.resourceKey },
      { head: 'Status', narrow: 'lead', cell: (run) => [statusOf(run), waitLine(waitOf(run))] },
      { head: 'Trigger', narrow: 'out', cell: (run) => run.trigger },
      { head: 'In', kind: 'number', narrow: 'named', cell: (run) => count(run.statsJson.recordsIn) },
      { head: 'Out', kind: 'number', narrow: 'named', cell: (run) => count(run.statsJson.recordsOut) },
      { head: 'Took', kind: 'number', cell: (run) => tookOf(run) },
    ],
    rows,
    empty,
  });

/** The status; of a run that failed, or whose attempts fail, also the code of its error. */
const statusOf = ({ status, errorCode }: RunLine): Content => [
  runBadge(status),
  status !== 'canceled' && errorCode !== null ? html` <code class="aside muted">${errorCode}</code>` : null,
];

const waitLine = (words: Content): Content => words && html`<div class="muted">${words}</div>`;

function tookOf({ startedAt, finishedAt }: Pick<RunLine, 'startedAt' | 'finishedAt'>): Content {
  if (startedAt === null) return html`<span class="muted">–</span>`;
  return duration((finishedAt === null ? Date.now() : Date.parse(finishedAt)) - Date.parse(startedAt));
}
