import { findParents } from '../../../db/queries/runs/parents.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { OpenedSource } from '../../connect/open-source.ts';
import { type ConnectionSetup, ofResource } from '../../connect/setup.ts';
import { renderTemplate } from '../../core/expressions/template.ts';
import { readPages } from '../../core/source/read/read-pages.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';

interface SampleOptions {
  readonly connectionId: string;
  readonly setup: ConnectionSetup;
  readonly resource: Resource;
  readonly source: OpenedSource;
  /** How another resource of the connection is opened. */
  readonly open: (resource: Resource) => Promise<OpenedSource>;
  readonly signal: AbortSignal;
}

/** The values of some partition of a resource; `nothing`: why it has none yet. Throws as reading does. */
export async function samplePartition(
  deps: Pick<Deps, 'db'>,
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
  for (const { as, values, resource: parent, from } of resource.forEach) {
    const found =
      parent === undefined
        ? await firstValue(source, values)
        : from === 'store'
          ? await firstStored(deps, scope, { connectionId, resourceKey: parent })
          : await firstRead(parent);
    if (found === undefined) {
      return {
        nothing: parent === undefined ? `forEach "${as}" has no values` : `there is no record of ${parent} yet`,
      };
    }
    each[as] = found;
  }
  return { each };
}

async function firstValue({ params, run, evaluator }: OpenedSource, values: string | undefined): Promise<unknown> {
  const options = { evaluator, now: new Date(run.startedAt), missing: 'omit' } as const;
  const list = await renderTemplate(values, { params, run, lookups: {}, auth: {} }, options);
  return Array.isArray(list) ? list[0] : undefined;
}

async function firstStored(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  parent: { readonly connectionId: string; readonly resourceKey: string },
): Promise<unknown> {
  const [first] = await findParents(db, scope, { ...parent, after: null, limit: 1, changedFor: null });
  return first?.fields;
}

async function firstRecord(source: OpenedSource, signal: AbortSignal): Promise<unknown> {
  for await (const { records } of readPages({ ...source, watermark: null }, { position: null, lookAhead: 0, signal })) {
    return records[0];
  }
  return undefined;
}
