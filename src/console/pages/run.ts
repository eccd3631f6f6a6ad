import * as v from 'valibot';
import { findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { findCalls } from '../../../db/queries/runs/calls.ts';
import { findRunProgress, findRunSlices, type RunProgress } from '../../../db/queries/runs/run-activity.ts';
import { findRun } from '../../../db/queries/runs/runs.ts';
import { syncRunId } from '../../../workflows/contract.ts';
import { idParams } from '../../api/inputs.ts';
import { cancelRun, replayRun } from '../../control/runs/runs.ts';
import { readRunWaits } from '../../control/runs/waits.ts';
import { found } from '../../core/errors.ts';
import type { RunRow } from '../../core/resources/run.ts';
import { runInput } from '../../dispatch/run-input.ts';
import { idText } from '../parts/code.ts';
import { failureAdvice } from '../parts/failure.ts';
import { button } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { count, counted } from '../parts/numbers.ts';
import { runBadge } from '../parts/status.ts';
import { facts, section } from '../parts/table.ts';
import { ago, time } from '../parts/time.ts';
import { action, type ConsoleDeps, page, type Visit } from '../route.ts';
import { callList, callsShown } from './run-calls.ts';
import { counts, slices, stages } from './run-pictures.ts';
import { waitWords } from './run-wait.ts';

const RunParams = idParams('run', 'Run');

export const runPage = page({
  path: '/runs/:id',
  params: RunParams,
  query: v.object({
    after: v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/, 'expected a number'), v.transform(Number)), '0'),
  }),
  handle: async (visit, deps) => {
    const { db, console } = deps;
    const { scope, params, query } = visit;
    const run = found(await findRun(db, scope, params.id), 'Run');
    const progress = found(await findRunProgress(db, scope, run.id), 'Run');
    const to = run.finishedAt ?? new Date().toISOString();
    const [names, calls, waits, recorded] = await Promise.all([
      findConnectionNames(db, scope, [run.connectionId]),
      findCalls(db, scope, { runId: run.id, after: query.after, limit: callsShown + 1 }),
      readRunWaits(deps, scope, run.finishedAt === null ? [run.id] : []),
      run.startedAt === null ? [] : findRunSlices(db, scope, { id: run.id, from: run.startedAt, to, slices }),
    ]);
    const name = names.get(run.connectionId) ?? 'a deleted connection';
    const isOpen = run.finishedAt === null;
    return {
      title: `Run of ${run.resourceKey}`,
      section: 'runs',
      trail: [
        ['Connections', '/console/connections'],
        [name, `/console/connections/${run.connectionId}`],
        ['Runs', `/console/connections/${run.connectionId}/runs`],
      ],
      ...(isOpen && { refreshSeconds: 2 }),
      body: html`${heading(`Run of ${run.resourceKey}`, {
        state: html`<span role="status" id="status" data-live>${runBadge(run.status)}</span>`,
        about: html`${name} · ${idText(run.id)}`,
        actions: live('actions', actions(visit, { run, progress, temporalUi: console.temporalUi })),
      })}
        ${live('wait', waitNotice(waitWords(waits.get(run.id))))}
        ${live('problem', problem(run))}
        ${live('counts', counts(run))}
        ${live('stages', stages({ run, progress, recorded }))}
        ${live('facts', runFacts(run, progress))}
        ${section(
          'Requests to the API',
          live('calls', callList(calls, { runId: run.id, after: query.after, isOpen })),
        )}`,
    };
  },
});

const waitNotice = (words: Content): Content => words && html`<p class="notice">${words}</p>`;

function problem({ status, error }: RunRow): Content {
  if (!error) return null;
  const isOver = status === 'failed';
  return html`<div class="failure ${isOver ? 'bad' : 'warn'}">
    <h2>${isOver ? 'Why it failed' : 'Why its last attempt failed; it is tried again'}</h2>
    <p class="strong">${error.message}</p>
    <div class="help"><h3>What to do <code>${error.code}</code></h3>${failureAdvice(error.code)}</div>
  </div>`;
}

function runFacts(run: RunRow, progress: RunProgress): Html {
  return facts([
    ['Requested', html`${time(progress.createdAt)} <span class="muted">${triggers[run.trigger]}</span>`],
    ['Started', time(run.startedAt, 'not yet')],
    ['Finished', time(run.finishedAt, 'not yet')],
    ['Last sign of life', ago(progress.progressedAt, 'none yet')],
    ['Recorded', `${counted(progress.batchNo, 'batch', 'batches')}, ${counted(progress.pageNo, 'page')}`],
    ['Attempts since the last batch', count(progress.attempts)],
    ['Watermark before', watermark(run.watermarkBefore)],
    ['Watermark after', watermark(run.watermarkAfter)],
    ['Spec version', progress.specVersion ?? html`<span class="muted">not begun</span>`],
  ]);
}

const triggers: Readonly<Record<RunRow['trigger'], string>> = {
  manual: 'by hand',
  schedule: 'by a schedule',
  webhook: 'by a hook',
  backfill: 'as a backfill',
};

const watermark = (value: string | null): Content =>
  value === null ? html`<span class="muted">none</span>` : html`<code>${value}</code>`;

interface Actions {
  readonly run: RunRow;
  readonly progress: RunProgress;
  readonly temporalUi: ConsoleDeps['console']['temporalUi'];
}

function actions(visit: Visit, { run, progress, temporalUi }: Actions): Content {
  const { id } = run;
  return [
    temporalUi &&
      html`<a class="button" href="${workflowUrl(visit, { run, progress, temporalUi })}" rel="noreferrer">Temporal UI</a>`,
    run.finishedAt === null
      ? progress.cancelRequestedAt === null
        ? button(visit, {
            action: `/console/runs/${id}/cancel`,
            label: 'Cancel',
            look: 'danger',
            confirm: 'Cancel this run? Delivered records stay.',
          })
        : html`<span class="muted">is being canceled</span>`
      : button(visit, { action: `/console/runs/${id}/replay`, label: 'Run again', look: 'primary' }),
  ];
}

function workflowUrl(
  { scope }: Visit,
  { run, progress, temporalUi }: Actions & { readonly temporalUi: NonNullable<Actions['temporalUi']> },
): string {
  const { scheduleId, scheduledFor } = progress;
  const workflowId = syncRunId(runInput(scope, { ...run, scheduleId, scheduledFor }));
  const { url, namespace } = temporalUi;
  return `${url}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

/** Delivered records stay. Throws not_found, conflict (the run has ended). */
export const cancel = action({
  path: '/runs/:id/cancel',
  params: RunParams,
  handle: async ({ scope, params }, deps) => {
    await cancelRun(deps, scope, params.id);
    return { to: `/console/runs/${params.id}`, notice: 'run-canceled' };
  },
});

/** Reads from today's watermark. Throws not_found, conflict, validation, rate_limited. */
export const replay = action({
  path: '/runs/:id/replay',
  params: RunParams,
  handle: async ({ scope, params }, deps) => {
    const run = await replayRun(deps, scope, params.id);
    return { to: `/console/runs/${run.id}`, notice: 'run-queued' };
  },
});
