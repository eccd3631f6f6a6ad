import type { CallLine } from '../../../db/queries/runs/calls.ts';
import { details, json, maybeJson } from '../parts/code.ts';
import { type Html, html } from '../parts/html.ts';
import { duration } from '../parts/numbers.ts';
import { badge, type Tone } from '../parts/status.ts';
import { facts, nothing } from '../parts/table.ts';
import { time } from '../parts/time.ts';

/** Few per page, as each has headers and a body. */
export const callsShown = 25;

interface CallListOptions {
  readonly runId: string;
  /** A sequence number. */
  readonly after: number;
  readonly isOpen: boolean;
}

export function callList(calls: readonly CallLine[], { runId, after, isOpen }: CallListOptions): Html {
  const shown = calls.slice(0, callsShown);
  const last = shown.at(-1);
  if (!last) {
    const words = isOpen
      ? 'No request was sent yet.'
      : 'No request is in the log: none was sent, or the log of this run is removed.';
    return html`<div class="empty">${nothing(words)}</div>`;
  }
  const slowest = Math.max(...shown.map(({ durationMs }) => durationMs ?? 0), 1);
  const url = `/console/runs/${runId}`;
  return html`<ol class="calls" start="${shown[0]?.sequence ?? 1}">${shown.map(
    (call) => html`<li>${details(`call-${call.sequence}`, summary(call, slowest), exchange(call))}</li>`,
  )}</ol>
  <nav class="pager" aria-label="Pages of requests">
    ${after > 0 ? html`<a class="button" href="${url}">First</a>` : ''}
    ${calls.length > callsShown ? html`<a class="button" href="${url}?after=${last.sequence}" rel="next">Next ${callsShown}</a>` : ''}
  </nav>`;
}

/** A 429 asks for a wait and is not a failure. */
function toneOf({ statusCode }: CallLine): Tone {
  if (statusCode === null) return 'bad';
  if (statusCode === 429) return 'warn';
  return statusCode < 300 ? 'good' : statusCode < 400 ? 'idle' : 'bad';
}

const summary = (call: CallLine, slowestMs: number): Html => html`<span class="call">
  <span class="sequence">${call.sequence}</span>
  <span class="target"><strong>${call.method}</strong> ${call.url}</span>
  ${badge(toneOf(call), call.statusCode === null ? (call.errorCode ?? 'no response') : String(call.statusCode))}
  ${call.attempt > 1 ? html`<span class="muted">attempt ${call.attempt}</span>` : ''}
  ${call.cacheHit ? html`<span class="muted">from the cache</span>` : ''}
  <span class="took">${call.durationMs === null ? '–' : duration(call.durationMs)}</span>
  <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="fill-accent" width="${Math.max(
    1,
    (100 * (call.durationMs ?? 0)) / slowestMs,
  ).toFixed(1)}" height="6" rx="2"/></svg>
</span>`;

const exchange = (call: CallLine): Html => html`<div class="exchange">
  ${facts([
    ['Logged', time(call.createdAt)],
    ['Attempt', String(call.attempt)],
    ['Result', call.errorCode ?? (call.statusCode === null ? 'no response' : `status ${call.statusCode}`)],
  ])}
  <div class="pair">
    <div><h3>Request</h3>${json(call.reqHeadersRedacted, `Headers of request ${call.sequence}`)}
      ${call.reqBodyRedacted === null ? html`<p class="hint">No body.</p>` : maybeJson(call.reqBodyRedacted, `Body of request ${call.sequence}`)}</div>
    <div><h3>Response</h3>${json(call.respHeaders, `Headers of response ${call.sequence}`)}
      ${call.respBodyTruncated === null ? html`<p class="hint">No body is kept.</p>` : maybeJson(call.respBodyTruncated, `Body of response ${call.sequence}`)}</div>
  </div>
</div>`;
