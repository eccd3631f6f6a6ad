import * as v from 'valibot';
import { Timestamp } from './values.ts';
import { Dedupe, Verification } from './verification-schema.ts';

/** An address that an upstream posts to when there is news; address and secret are never shown again. */
export const HookRow = v.object({
  id: v.pipe(v.string(), v.examples(['hook_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: v.string(),
  resourceKeys: v.pipe(
    v.array(v.string()),
    v.description('Keys of the resources that are synced.'),
    v.examples([['contacts']]),
  ),
  verification: Verification,
  dedupe: v.pipe(v.nullable(Dedupe), v.description('Null: as the kind of verification defines.')),
  debounceSeconds: v.number(),
  maxWaitSeconds: v.number(),
  enabled: v.boolean(),
  createdAt: Timestamp,
});
export type HookRow = v.InferOutput<typeof HookRow>;

export const hookDefaults = { dedupe: null, debounceSeconds: 2, maxWaitSeconds: 30 } as const;

export const HookRequestStatus = v.picklist(['accepted', 'duplicate', 'coalesced', 'ignored', 'rejected']);
export type HookRequestStatus = v.InferOutput<typeof HookRequestStatus>;

export const HookRequestRow = v.object({
  id: v.pipe(v.string(), v.examples(['hreq_01kaemm0dce7xb1k4c1m1f2p3q'])),
  hookId: v.string(),
  receivedAt: Timestamp,
  status: v.pipe(
    HookRequestStatus,
    v.description('coalesced: accepted, and an earlier request already started the same run.'),
  ),
  reason: v.pipe(
    v.nullable(v.string()),
    v.description('Why it was ignored, rejected or a duplicate, or why its run comes later. Null: none of these.'),
  ),
  runs: v.pipe(
    v.array(
      v.object({
        resourceKey: v.string(),
        runId: v.pipe(v.nullable(v.string()), v.description('Null: no run was created for it, or none is allowed.')),
      }),
    ),
    v.description(
      'The runs that it started; empty unless it was accepted. Each run started after the request arrived.',
    ),
  ),
});
export type HookRequestRow = v.InferOutput<typeof HookRequestRow>;
