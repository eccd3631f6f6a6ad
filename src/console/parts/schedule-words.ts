import cronstrue from 'cronstrue';
import type { ConnectionStatus } from '../../core/resources/connection.ts';
import type { ScheduleRow } from '../../core/resources/schedule.ts';
import { nextFirings } from '../../core/schedule/next-firings.ts';
import { type Html, html } from './html.ts';
import { time } from './time.ts';

/** For example `Every 15 minutes`; falls back to the expression itself. */
export function cronWords(cron: string): string {
  try {
    return cronstrue.toString(cron, { use24HourTimeFormat: true });
  } catch {
    return cron;
  }
}

export function nextTimes({ enabled, cron, timezone }: ScheduleRow, status: ConnectionStatus): Html {
  if (enabled && status !== 'active') return html`<span class="muted">not until the connection is active</span>`;
  if (!enabled) return html`<span class="muted">disabled</span>`;
  const times = nextFirings({ cron, timezone }, { afterMs: Date.now(), count: 3 });
  return html`<ul class="plain">${times.map((at) => html`<li>${time(at)}</li>`)}</ul>`;
}
