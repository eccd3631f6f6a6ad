-- What a run keeps of the partitions of its resource, of records that are gone, and of what it was asked to do.
alter table watermarks rename to partitions;
alter table partitions alter column watermark drop not null;
alter table partitions add column listed_at timestamptz;
alter table partitions add column validators jsonb;
comment on table partitions is 'How far each partition of a lane is read; one row, with an empty key, where a resource has none.';
comment on column partitions.watermark is 'Canonical text; null: nothing can be claimed yet.';
comment on column partitions.listed_at is 'Changes of parent records after this instant are still to be read; null: never read to its end, or no parents.';
comment on column partitions.validators is 'Of the last complete read, for a conditional request (Validators); null: none.';

alter table record_state drop constraint record_state_status_check;
alter table record_state add constraint record_state_status_check
  check (status in ('delivered', 'quarantined', 'deleted'));
alter table record_state add column partition text not null default '';
alter table record_state add column seen_run bigint;
alter table record_state add column changed_at timestamptz;
alter table record_state add column fields jsonb;
comment on column record_state.partition is 'Where a full scan saw it last; empty: no partition, or nobody asks.';
comment on column record_state.seen_run is 'runs.seq of the last full scan that saw it; null: none did.';
comment on column record_state.changed_at is 'When this version was recorded; null: no resource is read once per record of this one.';
comment on column record_state.fields is 'What resources below this one refer to; null: nothing is kept.';

alter table run_pages add column deleted integer not null default 0;

-- The values of each entry of forEach: partition n is the n-th of their combinations.
create table run_dimensions (
  org_id text not null,
  run_id text not null,
  dimension integer not null,
  no integer not null,
  key text not null,
  value jsonb not null,
  primary key (run_id, dimension, no),
  unique (run_id, dimension, key),
  foreign key (org_id, run_id) references runs (org_id, id) on delete cascade
);

alter table runs add column incomplete boolean not null default false;
alter table runs add column waits_for text[] not null default '{}';
alter table runs add column backfill jsonb;
alter table runs add column spec_version text;
alter table runs add column spec_overrides_json jsonb;
alter table runs add column params_json jsonb;
comment on column runs.incomplete is 'Something was left out on purpose (a partition, deletes held back), so it ends partial.';
comment on column runs.waits_for is 'Keys of resources whose active runs it lets pass first.';
comment on column runs.backfill is '{from, force} of a backfill; null: an ordinary run.';
comment on column runs.spec_version is 'What the run began with, so that a change of the connection reaches the next run only; null: not begun.';

alter table quarantine add column each_json jsonb not null default '{}';
alter table quarantine add column requeued_at timestamptz;
comment on column quarantine.each_json is 'Values of the partition it was read in.';
comment on column quarantine.requeued_at is 'Asked for again and not tried yet: the next run of the resource begins with it.';
create index quarantine_requeued on quarantine (connection_id, resource_key, id) where requeued_at is not null;

-- The lowest watermark of a lane, null while one of its partitions has none; integers compare as numbers.
create function lane_watermark(lane bigint) returns text language sql stable as $$
  select case
    when count(*) > count(watermark) then null
    when bool_and(watermark ~ '^-?[0-9]+$')
      then min(case when watermark ~ '^-?[0-9]+$' then watermark::numeric end)::text
    else min(watermark collate "C") end
  from partitions where lane_id = lane $$;
