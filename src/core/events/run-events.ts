import * as v from 'valibot';
import { RunRow } from '../resources/run.ts';
import type { DomainEvent } from './envelope.ts';
import { aboutConnection, EventConnection } from './event-connection.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection, exampleRun } from './examples.ts';
import { failureFacts, RunStage } from './run-failure.ts';

const ofRun = { run: RunRow, connection: EventConnection };
const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

const RunStarted = v.object(ofRun);
const RunSucceeded = v.object({ ...ofRun, quarantined: v.literal(0) });
const RunPartial = v.object({
  ...ofRun,
  quarantined: v.pipe(Count, v.description('Quarantined records; 0: a limit of the spec ended the read early.')),
  rejected: v.pipe(Count, v.description('Of those, the ones that the destination rejected.')),
});
const RunFailed = v.object({
  ...ofRun,
  error: v.object({
    code: v.pipe(v.string(), v.examples(['source_rejected'])),
    message: v.string(),
    retryable: v.pipe(v.boolean(), v.description('A later run may succeed without any correction.')),
    stage: v.pipe(v.nullable(RunStage), v.description('Null: not known.')),
  }),
});

const CancelReason = v.pipe(
  v.picklist(['requested', 'connection_not_active', 'operator']),
  v.description(
    'requested: through the API, or by an upgrade that lets the resource start over. connection_not_active: it was paused, deleted or in error. operator: an operator canceled it in Temporal.',
  ),
);
const RunCanceled = v.object({ ...ofRun, reason: CancelReason });

/** A run with its connection, as of the event. */
export interface RunFacts {
  readonly run: RunRow;
  readonly connection: EventConnection;
}

export interface RunEndFacts extends RunFacts {
  /** Records that the destination rejected. */
  readonly rejected: number;
  readonly cancelRequested: boolean;
}

export const runStarted = ({ run, connection }: RunFacts): DomainEvent => ({
  ...aboutRun({ run, connection }),
  type: 'run.started',
  data: { run, connection } satisfies v.InferOutput<typeof RunStarted>,
});

/** Throws if the run has not ended. */
export function runEnded({ run, connection, rejected, cancelRequested }: RunEndFacts): DomainEvent {
  const about = aboutRun({ run, connection });
  const rows = { run, connection };
  const { quarantined } = run.statsJson;
  switch (run.status) {
    case 'succeeded': {
      const data: v.InferOutput<typeof RunSucceeded> = { ...rows, quarantined: 0 };
      return { ...about, type: 'run.succeeded', data };
    }
    case 'partial': {
      const data: v.InferOutput<typeof RunPartial> = { ...rows, quarantined, rejected };
      return { ...about, type: 'run.partial', data };
    }
    case 'failed': {
      const { code, message } = run.error ?? { code: 'internal', message: 'No reason was recorded.' };
      const data: v.InferOutput<typeof RunFailed> = { ...rows, error: { code, message, ...failureFacts(code) } };
      return { ...about, type: 'run.failed', data };
    }
    case 'canceled': {
      const reason =
        connection.status !== 'active' ? 'connection_not_active' : cancelRequested ? 'requested' : 'operator';
      const data: v.InferOutput<typeof RunCanceled> = { ...rows, reason };
      return { ...about, type: 'run.canceled', data };
    }
    case 'queued':
    case 'running':
      throw new Error(`Run ${run.id} has not ended: it is ${run.status}`);
  }
}

const aboutRun = ({ run, connection }: RunFacts) => ({
  ...aboutConnection(connection),
  runId: run.id,
  // A run begins once and ends once.
  subject: run.id,
});

const exampleEnd = (run: Partial<RunRow>): RunEndFacts => ({
  run: { ...exampleRun, ...run },
  connection: exampleConnection,
  rejected: 0,
  cancelRequested: true,
});

const quarantine = { recordsIn: 1200, recordsOut: 35, skipped: 1163, deleted: 0, quarantined: 2 };

export const runEvents: EventDeclarations<
  'run.started' | 'run.succeeded' | 'run.partial' | 'run.failed' | 'run.canceled'
> = {
  'run.started': {
    summary: 'A run has started.',
    data: RunStarted,
    example: runStarted({
      run: { ...exampleRun, status: 'running', finishedAt: null, statsJson: nothingYet() },
      connection: exampleConnection,
    }).data,
  },
  'run.succeeded': {
    summary: 'A run has ended, and every record it fetched is delivered or known.',
    data: RunSucceeded,
    example: runEnded(exampleEnd({})).data,
  },
  'run.partial': {
    summary: 'A run has ended, but not every record was delivered: some were quarantined, or a limit ended the read.',
    data: RunPartial,
    example: runEnded(exampleEnd({ status: 'partial', statsJson: quarantine })).data,
  },
  'run.failed': {
    summary: 'A run has failed; the next one continues from the watermark.',
    data: RunFailed,
    example: runEnded(
      exampleEnd({
        status: 'failed',
        statsJson: nothingYet(),
        watermarkAfter: exampleRun.watermarkBefore,
        error: {
          code: 'source_rejected',
          message: 'The API responded with 404. Correct the request or add an error rule.',
        },
      }),
    ).data,
  },
  'run.canceled': {
    summary: 'A run was canceled, or did not start because its connection is not active.',
    data: RunCanceled,
    example: runEnded(exampleEnd({ status: 'canceled' })).data,
  },
};

function nothingYet(): RunRow['statsJson'] {
  return { recordsIn: 0, recordsOut: 0, skipped: 0, deleted: 0, quarantined: 0 };
}
