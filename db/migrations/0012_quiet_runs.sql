-- A lane whose last run ended in order is read without asking its destination, until there is something to deliver.
alter table lanes
  add column recorded_with text,
  add column recorded_since timestamptz,
  add column quick boolean not null default false,
  add check (num_nulls(recorded_with, recorded_since) in (0, 2));
comment on column lanes.recorded_with is 'Fingerprint of the destination of which everything is recorded here; null: it may have more, and is asked before anything is read.';
comment on column lanes.recorded_since is 'Since when that is so; after a day the destination is asked again.';
comment on column lanes.quick is 'Its last run was quick (less than 0.8 s): the next one is tried within the task of its workflow.';

-- Temporal has schedules in an older form, which only creates a run. The sweeper applies them again.
update schedules set version = version + 1 where deleted_at is null;
