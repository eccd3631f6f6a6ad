/** Log lines for observations of the process: the end of each run, and with `debug` the steps before it. */
import { type Observation, observations } from './core/observations.ts';
import { statementName } from './core/postgres/statement-names.ts';
import type { Log } from './log.ts';

/** Lines have counts and durations, and no data. */
export function logObservations(log: Log, isDetailed: boolean): void {
  observations.subscriberFailed.subscribe(({ observation, error }) =>
    log.error('observation not counted', { observation, error }),
  );
  observations.runEnded.subscribe((ended) => log.info('run ended', { ...ended }));
  // Each page or statement would cost a line, so subscribe only if they are wanted.
  if (!isDetailed) return;
  const detail = <Fact extends object>(observation: Observation<Fact>, message: string) =>
    observation.subscribe((fact) => log.debug(message, Object.fromEntries(Object.entries(fact))));
  detail(observations.upstreamCalled, 'upstream called');
  detail(observations.batchApplied, 'batch applied');
  detail(observations.batchRecorded, 'batch recorded');
  detail(observations.waitBegun, 'wait begun');
  detail(observations.eventSent, 'event sent');
  observations.statementSent.subscribe(({ text, ...fact }) =>
    log.debug('statement sent', { name: statementName(text), ...fact }),
  );
}
