import { findParents } from '../../../db/queries/runs/records/parents.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { OpenedSource } from '../../connect/open-source.ts';
import { createSealedEchoes } from '../../connect/sealed-echoes.ts';
import { type ConnectionSetup, ofResource } from '../../connect/setup.ts';
import { renderTemplate } from '../../core/expressions/template.ts';
import { valueAt } from '../../core/json/dotted-path.ts';
import type { LaneKey } from '../../core/model/lane-key.ts';
import { readPages } from '../../core/source/read/read-pages.ts';
import { groupValue, type PartitionSource, sourcesOf } from '../../core/spec/connection/partition-sources.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';

interface SampleOptions {
  readonly connectionId: string;
  readonly setup: ConnectionSetup;
  readonly resource: Resource;
  readonly source: OpenedSource;
  readonly open: (resource: Resource) => Promise<OpenedSource>;
  readonly signal: AbortSignal;
}

/** `nothing` is the reason if the resource has no partition yet; throws as reading does. */
export async function samplePartition(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { connectionId, setup, resource, source, open, signal }: SampleOptions,
): Promise<{ readonly each: Readonly<Record<string, unknown>> } | { readonly nothing: string }> {
  const each: Record<string, unknown> = {};
  const firstRead = async (parent: string): Promise<unknown> => {
    const { resource: above } = ofResource(setup, parent);
    const opened = await open(above);
    const options = { connectionId, setup, resource: above, source: opened, open, signal };
    const partition = await samplePartition(deps, scope, options);
    return 'nothing' in partition ? undefined : await firstRecord({ ...opened, ...partition }, signal);
  };
  const firstOf = async ({ values, resource: parent, from, value }: PartitionSource): Promise<unknown> => {
    const found =
      parent === undefined
        ? await firstValue(source, values)
        : from === 'store'
          ? await firstStored(deps, scope, { connectionId, resourceKey: parent })
          : await firstRead(parent);
    return value === undefined ? found : (valueAt(found, value) ?? undefined);
  };
  for (const dimension of resource.forEach) {
    const { as, group } = dimension;
    let found: unknown;
    for (const list of sourcesOf(dimension)) found ??= await firstOf(list);
    if (found === undefined) return { nothing: nothingIn(dimension) };
    each[as] = group === undefined ? found : groupValue(group, [found]);
  }
  return { each };
}

function nothingIn({ as, resource }: Resource['forEach'][number]): string {
  return resource === undefined ? `forEach "${as}" has no values` : `there is no record of ${resource} yet`;
}

async function firstValue({ params, run, evaluator }: OpenedSource, values: string | undefined): Promise<unknown> {
  const options = { evaluator, now: new Date(run.startedAt), missing: 'omit' } as const;
  const list = await renderTemplate(values, { params, run, lookups: {}, auth: {} }, options);
  return Array.isArray(list) ? list[0] : undefined;
}

async function firstStored(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  parent: LaneKey,
): Promise<unknown> {
  const { connectionId } = parent;
  const echoes = createSealedEchoes(secretBox, scope, { connectionId, hasSecret: () => false });
  const page = { after: null, limit: 1, changedFor: null, isReadWhole: false, fields: null };
  const [first] = await findParents(db, scope, { ...parent, ...page });
  return echoes.reveal(first?.fields, undefined) ?? undefined;
}

async function firstRecord(source: OpenedSource, signal: AbortSignal): Promise<unknown> {
  for await (const { records } of readPages({ ...source, watermark: null }, { position: null, lookAhead: 0, signal })) {
    return records[0];
  }
  return undefined;
}
