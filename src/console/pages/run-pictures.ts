import type { RunProgress, RunSlice } from '../../../db/queries/runs/run-activity.ts';
import type { RunRow } from '../../core/resources/run.ts';
import { type BarPart, barChart, key, shareBar } from '../parts/chart.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { count, counted, duration, percent } from '../parts/numbers.ts';
import { section } from '../parts/table.ts';

export const slices = 48;

/** Outcomes of the records of a run; they add up to the whole. */
export function counts({ id, finishedAt, statsJson }: RunRow): Html {
  const { recordsIn, recordsOut, skipped, quarantined, deleted } = statsJson;
  const deletions =
    deleted > 0 ? html`<p class="hint">${counted(deleted, 'deletion')} acknowledged by the destination.</p>` : null;
  if (recordsIn === 0) {
    const words = finishedAt === null ? 'No record is recorded yet.' : 'The run read no record.';
    return section('Records', [html`<p class="muted">${words}</p>`, deletions]);
  }
  const flagged = Math.max(0, recordsIn - recordsOut - skipped - quarantined);
  const parts: readonly BarPart[] = [
    { look: 'good', words: 'Delivered', value: recordsOut },
    { look: 'idle', words: 'Skipped, unchanged', value: skipped },
    { look: 'warn', words: 'Quarantined', value: quarantined },
    ...(flagged > 0 ? [{ look: 'bad', words: 'Deleted by a flag', value: flagged }] : []),
  ];
  const words = parts.map((part) => `${part.words}: ${count(part.value)}`).join(', ');
  return section('Records', [
    html`<div class="sum"><div class="term"><span class="amount">${count(recordsIn)}</span><span class="muted">read</span></div>
      ${parts.map(
        ({ look, words: name, value }, index) => html`<div class="term">
        <span class="sign" aria-hidden="true">${index === 0 ? '=' : '+'}</span>
        ${amount(look === 'warn' && value > 0 ? `/console/quarantine?runId=${id}` : null, value)}${key([[look, name]])}<span class="muted">${percent(value, recordsIn)}</span></div>`,
      )}
    </div>`,
    shareBar(parts, `${counted(recordsIn, 'record')} read. ${words}.`),
    deletions,
  ]);
}

const amount = (href: string | null, value: number): Html =>
  href === null
    ? html`<span class="amount">${count(value)}</span>`
    : html`<a class="amount" href="${href}" aria-label="${counted(value, 'quarantined record')}">${count(value)}</a>`;

interface Stages {
  readonly run: RunRow;
  readonly progress: RunProgress;
  readonly recorded: readonly RunSlice[];
}

export function stages({ run, progress, recorded }: Stages): Html {
  const begun = Date.parse(progress.createdAt);
  const end = run.finishedAt === null ? Date.now() : Date.parse(run.finishedAt);
  const started = run.startedAt === null ? end : Math.min(Date.parse(run.startedAt), end);
  const [waited, took] = [Math.max(0, started - begun), Math.max(0, end - started)];
  const isOver = run.finishedAt !== null;
  const parts = [
    {
      look: 'idle',
      words: `${run.startedAt === null && !isOver ? 'Waits' : 'Waited'} ${duration(waited)}`,
      value: waited,
    },
    { look: 'accent', words: `${isOver ? 'Ran' : 'Runs'} ${duration(took)}`, value: run.startedAt === null ? 0 : took },
  ];
  return section('Time', [
    html`<p class="keys">${key(parts.filter(({ value }) => value > 0).map(({ look, words }) => [look, words] as const))}</p>`,
    shareBar(parts, parts.map(({ words }) => words).join(', ')),
    run.startedAt === null || run.statsJson.recordsIn === 0 ? null : recordedChart({ recorded, tookMs: took }),
  ]);
}

function recordedChart({
  recorded,
  tookMs,
}: {
  readonly recorded: readonly RunSlice[];
  readonly tookMs: number;
}): Content {
  const bySlice = new Map(recorded.map((slice) => [slice.slice, slice]));
  const read = recorded.reduce((sum, { recordsIn }) => sum + recordsIn, 0);
  const perSecond = tookMs > 0 ? Math.round((1000 * read) / tookMs) : 0;
  return barChart({
    heading: `Recorded over time: ${counted(perSecond, 'record')} per second`,
    summary: `${counted(read, 'record')} recorded in ${duration(tookMs)}, page by page.`,
    empty: 'No page is recorded yet. The ledger of an old run is removed.',
    format: count,
    bars: Array.from({ length: slices }, (_, index) => {
      const { recordsIn = 0, recordsOut = 0 } = bySlice.get(index + 1) ?? {};
      return {
        tick: `+${duration((index * tookMs) / slices)}`,
        parts: [
          { look: 'accent', words: 'Delivered', value: recordsOut },
          { look: 'idle', words: 'Not delivered', value: Math.max(0, recordsIn - recordsOut) },
        ],
      };
    }),
  });
}
