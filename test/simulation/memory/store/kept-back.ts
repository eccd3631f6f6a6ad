import {
  closedIds,
  type QuarantineEntry,
  type Receipt,
  type RecordVersion,
} from '../../../../src/core/model/receipt.ts';
import { isLive } from '../records/requeue.ts';
import type { ControlState, StoredQuarantine, StoredRun } from './control-state.ts';
import { stored, storedObject } from './stored-json.ts';

type OfResource = Pick<StoredRun, 'orgId' | 'connectionId' | 'resourceKey'>;

/**
 * Opens a row for each record, or changes the open one: there is one open row per record, or per version where each counts, with
 * what came last. Rows that were tried again come first.
 */
export function keepQuarantine(
  state: ControlState,
  resource: OfResource,
  { entries, runId }: { readonly entries: readonly QuarantineEntry[]; readonly runId: string },
): void {
  const versions = new Map(entries.map((entry) => [`${entry.version} ${entry.externalId}`, entry]));
  const last = [...versions.values()];
  const again = new Map(last.filter(({ isAgain }) => isAgain).map((entry) => [entry.id, entry]));
  for (const entry of again.values()) openAgain(state, resource, { entry, runId });
  for (const entry of last.filter(({ isAgain }) => !isAgain)) openAnew(state, resource, { entry, runId });
}

interface Kept {
  readonly entry: QuarantineEntry;
  readonly runId: string;
}

function openAgain(state: ControlState, resource: OfResource, { entry, runId }: Kept): void {
  const { id, externalId, errors, isAwaited } = entry;
  const row = state.quarantine.get(id);
  if (!row || row.connectionId !== resource.connectionId || row.resourceKey !== resource.resourceKey) return;
  if (
    rowsOf(state, resource, [{ externalId, version: row.version }]).some(
      (other) => other.resolvedAt === null && other !== row,
    )
  )
    return;
  const open = { externalId, resolvedAt: null, requeuedAt: isAwaited ? state.now() : null };
  state.quarantine.update(row, { ...open, validationErrors: stored(errors), runId });
}

function openAnew(state: ControlState, resource: OfResource, { entry, runId }: Kept): void {
  const { id, externalId, version, rawJson, each, sealed = null, errors, isAwaited } = entry;
  for (const row of rowsOf(state, resource, [entry])) {
    if (row.requeuedAt !== null) state.quarantine.update(row, { requeuedAt: null });
  }
  const content = {
    rawJson: jsonOrText(rawJson),
    eachJson: storedObject(each),
    sealedJson: sealed,
    validationErrors: stored(errors),
    runId,
    requeuedAt: isAwaited ? state.now() : null,
  };
  const open = rowsOf(state, resource, [entry]).find(({ resolvedAt }) => resolvedAt === null);
  if (open) {
    state.quarantine.update(open, content);
    return;
  }
  const { orgId, connectionId, resourceKey } = resource;
  const key = { id, orgId, connectionId, resourceKey, externalId, version };
  state.quarantine.insert({ ...key, ...content, createdAt: state.now(), resolvedAt: null });
}

/** Closes the rows of records that are now delivered or deleted, and those of versions that are. */
export function closeRows(state: ControlState, resource: Omit<OfResource, 'orgId'>, receipt: Receipt): void {
  const { closesVersions } = receipt;
  const closed = new Set(closedIds(receipt));
  const ofVersions = closesVersions.flatMap(({ externalId, version }) => [
    { externalId, version },
    { externalId, version: '' },
  ]);
  const ending = [
    ...state.quarantine.where((row) => isOf(resource, row) && closed.has(row.externalId)),
    ...rowsOf(state, resource, ofVersions),
  ];
  for (const row of ending.filter(isLive)) {
    const now = state.quarantine.get(row.id) ?? row;
    state.quarantine.update(now, { resolvedAt: now.resolvedAt ?? state.now(), requeuedAt: null });
  }
}

/** Keeps records for the next run that were delivered although a step failed for them. */
export function tryAgain(
  state: ControlState,
  { orgId, connectionId, resourceKey }: OfResource,
  { entries, runId }: { readonly entries: readonly QuarantineEntry[]; readonly runId: string },
): void {
  const now = state.now();
  for (const { id, externalId, version, rawJson, each, sealed = null, errors, isAgain } of entries) {
    const row = state.quarantine.get(id);
    if (row && isAgain && row.connectionId === connectionId && row.resourceKey === resourceKey) {
      const resolvedAt = row.resolvedAt ?? now;
      const waiting = { externalId, validationErrors: stored(errors), runId, resolvedAt, requeuedAt: now };
      state.quarantine.update(row, waiting);
    }
    if (row || isAgain) continue;
    const key = { id, orgId, connectionId, resourceKey, externalId, version };
    const content = {
      rawJson: jsonOrText(rawJson),
      eachJson: storedObject(each),
      sealedJson: sealed,
      validationErrors: stored(errors),
      runId,
    };
    state.quarantine.insert({ ...key, ...content, createdAt: now, requeuedAt: now, resolvedAt: now });
  }
}

const isOf = ({ connectionId, resourceKey }: Omit<OfResource, 'orgId'>, row: StoredQuarantine): boolean =>
  row.connectionId === connectionId && row.resourceKey === resourceKey;

const rowsOf = (
  state: ControlState,
  resource: Omit<OfResource, 'orgId'>,
  versions: readonly RecordVersion[],
): StoredQuarantine[] =>
  state.quarantine.where(
    (row) =>
      isOf(resource, row) &&
      versions.some(({ externalId, version }) => row.externalId === externalId && row.version === version),
  );

function jsonOrText(text: string): unknown {
  try {
    return stored(JSON.parse(text) as unknown);
  } catch {
    return stored(text);
  }
}
