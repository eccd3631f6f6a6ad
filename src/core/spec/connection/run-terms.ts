import { conflict } from '../../errors.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import type { Resource } from '../schema/spec-schema.ts';
import { destinationRefusal, placeRefusal } from './default-place.ts';
import { sourcesOf } from './partition-sources.ts';
import { invalidSpec, unknownResource } from './spec-errors.ts';
import { storedSpec } from './stored-spec.ts';

/** The settings with which a run is queued. */
export interface RunTerms {
  readonly resource: Resource;
  /** Whether the destination, of the spec or else the deployment's default, is a table. */
  readonly keepsRows: boolean;
  /** Concurrent runs of the connection, at most. */
  readonly concurrentMax: number;
  /** Keys of resources whose running or earlier queued runs are waited for. */
  readonly waitsFor: readonly string[];
}

/** The input for the terms of a run. */
interface RunQuestion {
  /** The pinned document. */
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly resourceKey: string;
  /** The destination of specs that declare none; null: a spec must declare its own. */
  readonly defaultDestination: unknown;
  /** The field of the request that names the resource. */
  readonly path: 'resource' | 'resourceKey' | `resourceKeys.${number}`;
}

/**
 * The terms of a run of a resource. Throws conflict (the effective spec is invalid, has no destination, or names a schema at
 * the default one), validation (no such resource, at `path`).
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

/** Keys of the resources whose records a run is read for, including those that a live parent is read for itself. */
function parentsOf({ forEach }: Resource, resources: readonly Resource[]): readonly string[] {
  return forEach.flatMap(sourcesOf).flatMap(({ resource: parentKey, from }) => {
    if (parentKey === undefined) return [];
    const parent = from === 'live' ? resources.find(({ key }) => key === parentKey) : undefined;
    return [parentKey, ...(parent ? parentsOf(parent, resources) : [])];
  });
}
