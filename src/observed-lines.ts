/** Lines of the log for what the process publishes about itself: the end of each run, and with `debug` what leads to it. */
import { type Observation, observations } from './core/observations.ts';
import { statementName } from './core/postgres/statement-names.ts';
import type { Log } from './log.ts';

/** Writes them from now on. A line has what was counted and how long it took, and no data. */
export function logObservations(log: Log, isDetailed: boolean): void {
  observations.runEnded.subscribe((ended) => log.info('run ended', { ...ended }));
  // Each costs a line for each page or statement, so nothing is made of them unless they are wanted.
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
