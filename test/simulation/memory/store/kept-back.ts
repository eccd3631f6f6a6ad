import type { QuarantineEntry } from '../../../../src/core/model/receipt.ts';
import type { ControlState, StoredQuarantine, StoredRun } from './control-state.ts';
import { stored, storedObject } from './stored-json.ts';

type OfResource = Pick<StoredRun, 'orgId' | 'connectionId' | 'resourceKey'>;

/** Opens a row for each record, or changes the open one: there is one open row per record, with the last of its versions. */
export function keepQuarantine(
  state: ControlState,
  { orgId, connectionId, resourceKey }: OfResource,
  { entries, runId }: { readonly entries: readonly QuarantineEntry[]; readonly runId: string },
): void {
  const versions = new Map(entries.map((entry) => [entry.externalId, entry]));
  for (const { id, externalId, rawJson, each, errors, isAwaited } of versions.values()) {
    const content = {
      rawJson: jsonOrText(rawJson),
      eachJson: storedObject(each),
      validationErrors: stored(errors),
      runId,
      requeuedAt: isAwaited ? state.now() : null,
    };
    const [open] = openRows(state, { connectionId, resourceKey }, new Set([externalId]));
    if (open) state.quarantine.update(open, content);
    else {
      const key = { id, orgId, connectionId, resourceKey, externalId };
      state.quarantine.insert({ ...key, ...content, createdAt: state.now(), resolvedAt: null });
    }
  }
}

/** Keeps records for the next run that were delivered although a step failed for them. */
export function tryAgain(
  state: ControlState,
  { orgId, connectionId, resourceKey }: OfResource,
  { entries, runId }: { readonly entries: readonly QuarantineEntry[]; readonly runId: string },
): void {
  const now = state.now();
  for (const { id, externalId, rawJson, each, errors } of entries) {
    if (state.quarantine.get(id)) continue;
    const key = { id, orgId, connectionId, resourceKey, externalId };
    const content = {
      rawJson: jsonOrText(rawJson),
      eachJson: storedObject(each),
      validationErrors: stored(errors),
      runId,
    };
    state.quarantine.insert({ ...key, ...content, createdAt: now, requeuedAt: now, resolvedAt: now });
  }
}

/** Closes the open rows of records that are now delivered. */
export function resolveQuarantine(
  state: ControlState,
  resource: Omit<OfResource, 'orgId'>,
  externalIds: ReadonlySet<string>,
): void {
  for (const row of openRows(state, resource, externalIds)) state.quarantine.update(row, { resolvedAt: state.now() });
}

const openRows = (
  state: ControlState,
  { connectionId, resourceKey }: Omit<OfResource, 'orgId'>,
  externalIds: ReadonlySet<string>,
): StoredQuarantine[] =>
  state.quarantine.where(
    (row) =>
      row.resolvedAt === null &&
      row.connectionId === connectionId &&
      row.resourceKey === resourceKey &&
      externalIds.has(row.externalId),
  );

function jsonOrText(text: string): unknown {
  try {
    return stored(JSON.parse(text) as unknown);
  } catch {
    return stored(text);
  }
}
