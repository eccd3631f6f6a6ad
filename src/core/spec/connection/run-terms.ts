import { conflict } from '../../errors.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import type { Resource } from '../schema/spec-schema.ts';
import { destinationRefusal, placeRefusal } from './default-place.ts';
import { sourcesOf } from './partition-sources.ts';
import { invalidSpec, unknownResource } from './spec-errors.ts';
import { storedSpec } from './stored-spec.ts';

export interface RunTerms {
  readonly resource: Resource;
  /** Whether the destination (the spec's, or the deployment's default) is a table. */
  readonly keepsRows: boolean;
  /** Maximum concurrent runs of the connection. */
  readonly concurrentMax: number;
  /** Keys of resources whose running or earlier queued runs this run waits for. */
  readonly waitsFor: readonly string[];
}

interface RunQuestion {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly resourceKey: string;
  /** The destination of specs that declare none; `null` if a spec must declare its own. */
  readonly defaultDestination: unknown;
  /** The request field that names the resource. */
  readonly path: 'resource' | 'resourceKey' | `resourceKeys.${number}`;
}

/**
 * Throws `conflict` if the effective spec is invalid, has no destination, or names a schema at the default one. Throws
 * `validation`, at `path`, if the resource does not exist.
 */
export function runTerms(question: RunQuestion): RunTerms {
  const { specJson, specOverridesJson, resourceKey, defaultDestination, path } = question;
  const checked = storedSpec(specJson, specOverridesJson);
  if (!checked.valid) throw invalidSpec('conflict', checked.issues);
  const { resources, destination, http } = checked.spec;
  const resource = resources.find(({ key }) => key === resourceKey);
  if (!resource) throw unknownResource({ resources }, path);
  const refusal =
    destinationRefusal(checked.spec, defaultDestination) ?? placeRefusal(checked.spec, resource, defaultDestination);
  if (refusal !== null) throw conflict(refusal);
  return {
    resource,
    keepsRows: destinationKind({ destination: destination ?? defaultDestination }).keepsRows,
    concurrentMax: http.rateLimit.maxConcurrent,
    waitsFor: [...new Set([...resource.dependsOn, ...parentsOf(resource, resources)])],
  };
}

/** Keys of the resources whose records supply partitions, including the ancestors of a live parent. */
function parentsOf({ forEach }: Resource, resources: readonly Resource[]): readonly string[] {
  return forEach.flatMap(sourcesOf).flatMap(({ resource: parentKey, from }) => {
    if (parentKey === undefined) return [];
    const parent = from === 'live' ? resources.find(({ key }) => key === parentKey) : undefined;
    return [parentKey, ...(parent ? parentsOf(parent, resources) : [])];
  });
}
