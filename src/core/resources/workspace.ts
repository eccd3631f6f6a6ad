import * as v from 'valibot';
import { Timestamp } from './values.ts';

export const WorkspaceKind = v.picklist(['dev', 'staging', 'prod']);
export type WorkspaceKind = v.InferOutput<typeof WorkspaceKind>;

export const WorkspaceRow = v.object({
  id: v.pipe(v.string(), v.examples(['ws_01kaemm0dce7xb1k4c1m1f2p3q'])),
  name: v.string(),
  kind: WorkspaceKind,
  createdAt: Timestamp,
});
export type WorkspaceRow = v.InferOutput<typeof WorkspaceRow>;
