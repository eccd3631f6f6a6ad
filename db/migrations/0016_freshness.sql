-- How up to date a connection is, read in a moment however many runs there were.
create index runs_by_lane on runs (lane_id, seq desc);
create index runs_succeeded on runs (lane_id, seq desc) where status = 'succeeded';

alter table schedules add column longest_gap_seconds integer;
comment on column schedules.longest_gap_seconds is 'The longest time between two of its firings; null: made before this was noted, the sweeper works it out.';
create index schedules_without_gap on schedules (id) where longest_gap_seconds is null;

alter table lanes add column overdue_since timestamptz;
comment on column lanes.overdue_since is 'When it was first seen that the last success is older than its schedules allow; null: it is not.';
create index lanes_overdue on lanes (id) where overdue_since is not null;
