-- A record is missing only if every place that ever showed it was read whole in one run, and lacks it.

-- Where a resource with partitions has been seen to have a record. Its org is that of its lane, as in record_state.
create table record_partitions (
  lane_id bigint not null,
  seen_run bigint not null,
  external_id text not null,
  partition text not null,
  primary key (lane_id, external_id, partition)
) with (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
comment on table record_partitions is 'The partitions that have a record, of resources whose deletions are found by absence.';
comment on column record_partitions.seen_run is 'runs.seq of the last run that saw it there.';
create index record_partitions_of_partition on record_partitions (lane_id, partition);
comment on column record_state.partition is 'Where a full scan saw it last, from before record_partitions; empty: no partition, or it is there.';

alter table partitions
  add column proof text check (proof in ('whole', 'gap', 'unchanged')),
  add column proof_run bigint,
  add column pending jsonb;
comment on column partitions.proof is 'What the run proof_run has proved of the partition (Proof); null: no run has been asked.';
comment on column partitions.pending is 'listed_at and validators to come, once the deletions of proof_run are made; null: none.';

alter table record_state
  add column missed smallint,
  add column missed_run bigint;
comment on column record_state.missed is 'How many complete reads in a row lacked it, the last one missed_run; null: none.';
create index record_state_missed on record_state (lane_id) where missed is not null;

alter table lanes add column cleared_run bigint;
comment on column lanes.cleared_run is 'runs.seq of the run from which on its records are known again, after they were forgotten; null: they never were.';
-- Of a lane whose last run did not end well it is not known whether all of its records are.
update lanes set cleared_run = (select max(seq) from runs where lane_id = lanes.id)
where exists (
  select from runs
  where lane_id = lanes.id and status not in ('queued', 'running')
    and seq = (select max(seq) from runs ended where ended.lane_id = lanes.id and status not in ('queued', 'running'))
    and not (status in ('succeeded', 'partial') and read_completed));
