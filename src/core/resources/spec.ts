import * as v from 'valibot';
import { type Issue as IssueShape, issueCodes } from '../errors.ts';
import { JsonObject } from '../json/json-object.ts';
import { Timestamp } from './values.ts';

/** Drafts are mutable; publishing freezes a version; `deprecated` takes no new pins. */
export const SpecVersionStatus = v.picklist(['draft', 'published', 'deprecated']);
export type SpecVersionStatus = v.InferOutput<typeof SpecVersionStatus>;

export const SpecVersionRow = v.object({
  id: v.pipe(v.string(), v.examples(['specver_01kaemm0dce7xb1k4c1m1f2p3q'])),
  specId: v.string(),
  version: v.pipe(v.string(), v.description('Semver without a build part.'), v.examples(['1.4.0'])),
  specJson: JsonObject,
  status: SpecVersionStatus,
  checksum: v.pipe(v.string(), v.description('`sha256:` and the hex digest of the RFC 8785 form of `specJson`.')),
  publishedAt: v.nullable(Timestamp),
});
export type SpecVersionRow = v.InferOutput<typeof SpecVersionRow>;

export const SpecRow = v.object({
  id: v.pipe(v.string(), v.examples(['spec_01kaemm0dce7xb1k4c1m1f2p3q'])),
  key: v.pipe(v.string(), v.examples(['acme-crm'])),
  versions: v.pipe(
    v.array(v.object({ version: v.string(), status: SpecVersionStatus })),
    v.description('Newest first.'),
  ),
});
export type SpecRow = v.InferOutput<typeof SpecRow>;

export const Issue = v.object({
  code: v.picklist(issueCodes),
  path: v.pipe(v.string(), v.examples(['resources.0.transform'])),
  message: v.string(),
  line: v.pipe(
    v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    v.description('Where `path` is written in a body of YAML, from 1. Absent: the body is JSON, or has no such part.'),
  ),
  column: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
}) satisfies v.GenericSchema<unknown, IssueShape>;
export type Issue = v.InferOutput<typeof Issue>;

export const ValidationResult = v.variant('valid', [
  v.object({ valid: v.literal(true), spec: JsonObject }),
  v.object({ valid: v.literal(false), issues: v.array(Issue) }),
]);
export type ValidationResult = v.InferOutput<typeof ValidationResult>;

export const SpecImport = v.object({
  spec: JsonObject,
  report: v.pipe(
    v.array(
      v.object({
        name: v.pipe(v.string(), v.examples(['listUsers'])),
        status: v.picklist(['converted', 'refused']),
        path: v.pipe(
          v.nullable(v.string()),
          v.description('Where in the document; null: converted.'),
          v.examples(['paths./users.get']),
        ),
        reason: v.nullable(v.string()),
      }),
    ),
    v.description('One entry for each list operation or stream.'),
  ),
});
export type SpecImport = v.InferOutput<typeof SpecImport>;

const UpgradeClass = v.pipe(
  v.picklist(['compatible', 'resets', 'breaking']),
  v.description('`resets`: the next run starts over. `breaking`: something stops working.'),
);

const ResourcePlan = v.object({
  resourceKey: v.string(),
  class: UpgradeClass,
  changed: v.pipe(v.array(v.string()), v.description('Fields of the resource that differ.')),
  resets: v.pipe(
    v.picklist(['nothing', 'watermark', 'state']),
    v.description('What the next run resets first; `state`: every known record and the watermark.'),
  ),
  redelivers: v.pipe(
    v.picklist(['nothing', 'fetched', 'everything']),
    v.description('Records delivered again although they did not change; `fetched`: those that a run fetches anyway.'),
  ),
  mayDelete: v.pipe(
    v.boolean(),
    v.description(
      'Other records are read, or under other keys, or `filter` may keep others, and what is then not found is deleted at the destination, as far as the brake on deletes allows.',
    ),
  ),
  backfillRecommended: v.pipe(v.boolean(), v.description('Delivered records keep their old form until then.')),
  rekeyedTable: v.pipe(v.nullable(v.string()), v.description('The table whose upsert keys change; null: none.')),
  effect: v.pipe(v.string(), v.description('The plan of this resource in words.')),
});

/** Effects of a change to a connection's spec, overrides or params. */
export const ChangePlan = v.object({
  class: UpgradeClass,
  changed: v.pipe(v.array(v.string()), v.description('Parts of the spec other than its resources that differ.')),
  resources: v.array(ResourcePlan),
  backfillRecommended: v.boolean(),
  issues: v.pipe(v.array(Issue), v.description('Why the change cannot be applied; empty when it can.')),
});
export type ChangePlan = v.InferOutput<typeof ChangePlan>;

export const SpecUpgrade = v.object({
  connectionId: v.string(),
  from: v.pipe(v.string(), v.examples(['1.0.0'])),
  to: v.pipe(v.string(), v.examples(['1.1.0'])),
  applied: v.pipe(v.boolean(), v.description('False for a dry run.')),
  plan: ChangePlan,
});
export type SpecUpgrade = v.InferOutput<typeof SpecUpgrade>;
