/** Names a lane within its org: the runs of one resource of one connection, one at a time. */
export interface LaneKey {
  readonly connectionId: string;
  readonly resourceKey: string;
}
