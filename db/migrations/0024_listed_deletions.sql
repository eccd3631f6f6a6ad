-- A deletion that a list names has a time: it ends the version of a record that was known by then, and no later one.

-- What a list of deleted records has said of a record. Its org is that of its lane, as in record_state.
create table listed_deletions (
  lane_id bigint not null,
  listed_run bigint not null,
  state text not null check (state in ('before', 'pending', 'due', 'done')),
  external_id text not null,
  partition text not null,
  deleted_at text,
  primary key (lane_id, external_id, partition)
) with (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
comment on table listed_deletions is 'Deletions that a list has named, each until its record is forgotten: what was done of them is not done again.';
comment on column listed_deletions.listed_run is 'runs.seq of the last run whose list named it.';
comment on column listed_deletions.state is 'before: named before the first read of its partition; pending: read as live before it was named, so the next run decides; due: to be deleted; done: it was, or is older than the record.';
comment on column listed_deletions.partition is 'The partition whose list named it; empty: the list is of the whole resource.';
comment on column listed_deletions.deleted_at is 'When it was deleted, canonical text; null: the list does not say.';
create index listed_deletions_open on listed_deletions (lane_id, state) where state <> 'done';

alter table partitions add column list_run bigint;
comment on column partitions.list_run is 'runs.seq of the last run that read its list of deleted records to the end; null: none did.';
