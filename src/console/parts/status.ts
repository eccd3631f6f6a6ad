import type { ConnectionStatus } from '../../core/resources/connection.ts';
import type { Health } from '../../core/resources/freshness.ts';
import type { HookRequestStatus } from '../../core/resources/hook.ts';
import type { RunStatus } from '../../core/resources/run.ts';
import type { SpecVersionStatus } from '../../core/resources/spec.ts';
import type { WebhookEndpointState } from '../../core/resources/webhook-endpoint.ts';
import type { WorkspaceKind, WorkspaceRow } from '../../core/resources/workspace.ts';
import { type Html, html } from './html.ts';

/** A color and a shape: many people cannot tell colors apart. */
export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'idle';

/** Stroked paths in a box of 16. */
const shapes: Readonly<Record<Tone, string>> = {
  good: 'M2.5 8.5 6 12l7.5-8',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5V10M8 11.8v.2',
  bad: 'm3.5 3.5 9 9m0-9-9 9',
  busy: 'M13 8a5 5 0 1 1-1.5-3.5M12 1.5V5H8.5',
  idle: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11',
};

export const badge = (tone: Tone, words: string): Html =>
  html`<span class="badge ${tone}"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="${shapes[tone]}"/></svg>${words}</span>`;

const runs: Readonly<Record<RunStatus, readonly [Tone, string]>> = {
  queued: ['idle', 'Queued'],
  running: ['busy', 'Running'],
  succeeded: ['good', 'Succeeded'],
  partial: ['warn', 'Partial'],
  failed: ['bad', 'Failed'],
  canceled: ['idle', 'Canceled'],
};
const healths: Readonly<Record<Health, readonly [Tone, string]>> = {
  healthy: ['good', 'Healthy'],
  degraded: ['warn', 'Degraded'],
  failing: ['bad', 'Failing'],
  syncing: ['busy', 'Syncing'],
  pending: ['idle', 'Not synced yet'],
};
const connections: Readonly<Record<ConnectionStatus, readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  paused: ['idle', 'Paused'],
  pending: ['idle', 'Pending'],
  error: ['bad', 'Error'],
};
const endpoints: Readonly<Record<WebhookEndpointState, readonly [Tone, string]>> = {
  ok: ['good', 'OK'],
  probing: ['warn', 'Probing'],
  paused: ['warn', 'Paused by the receiver'],
  disabled: ['idle', 'Disabled'],
};
const versions: Readonly<Record<SpecVersionStatus, readonly [Tone, string]>> = {
  draft: ['idle', 'Draft'],
  published: ['good', 'Published'],
  deprecated: ['warn', 'Deprecated'],
};
const requests: Readonly<Record<HookRequestStatus, readonly [Tone, string]>> = {
  accepted: ['good', 'Accepted'],
  coalesced: ['good', 'Joined an earlier one'],
  duplicate: ['idle', 'Duplicate'],
  ignored: ['idle', 'Ignored'],
  rejected: ['bad', 'Rejected'],
};

export const runBadge = (status: RunStatus): Html => badge(...runs[status]);
export const healthBadge = (health: Health): Html => badge(...healths[health]);
export const connectionBadge = (status: ConnectionStatus): Html => badge(...connections[status]);
export const endpointBadge = (state: WebhookEndpointState): Html => badge(...endpoints[state]);
export const versionBadge = (status: SpecVersionStatus): Html => badge(...versions[status]);
export const hookRequestBadge = (status: HookRequestStatus): Html => badge(...requests[status]);

export const runWords = (status: RunStatus): string => runs[status][1];
export const connectionWords = (status: ConnectionStatus): string => connections[status][1];
/** The health of a connection in words alone, for lists of choices. */
export const healthWords = (health: Health): string => healths[health][1];

/** The kind of a workspace: production stands out. */
export const kindMark = (kind: WorkspaceKind): Html => html`<span class="kind ${kind}">${kind}</span>`;

/** A workspace by its name and kind, which may be equal. */
export const workspaceWords = ({ name, kind }: Pick<WorkspaceRow, 'name' | 'kind'>): Html =>
  html`${name === kind ? '' : html`${name} `}${kindMark(kind)}`;
