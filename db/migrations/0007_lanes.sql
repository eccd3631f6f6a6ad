-- A lane is the queue of one (connection, resource): at most one run at a time, first in first out.
create table lanes (
  id bigint generated always as identity primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  fence bigint not null default 0,
  reset text check (reset in ('watermark', 'state')),
  overdue_since timestamptz,
  unique (org_id, connection_id, resource_key),
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id)
) with (
  -- Every attempt changes its row: the next version finds room in the same page, and dead ones are few when vacuum comes.
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on column lanes.fence is 'Counts the attempts on this lane. Whoever holds a smaller number than the newest has lost it.';
comment on column lanes.reset is 'What the next run forgets before it reads, because the spec now reads otherwise: the watermark, or every known record as well (state). Null: nothing.';
comment on column lanes.overdue_since is 'When it was first seen that the last success is older than its schedules allow; null: it is not.';
create index lanes_overdue on lanes (id) where overdue_since is not null;

create table partitions (
  org_id text not null,
  lane_id bigint not null,
  partition text not null default '',
  watermark text,
  listed_at timestamptz,
  validators jsonb,
  updated_at timestamptz not null default now(),
  primary key (lane_id, partition),
  foreign key (org_id, lane_id) references lanes (org_id, id)
);
comment on table partitions is 'How far each partition of a lane is read; one row, with an empty key, where a resource has none.';
comment on column partitions.watermark is 'Canonical text; null: nothing can be claimed yet.';
comment on column partitions.listed_at is 'Changes of parent records after this instant are still to be read; null: never read to its end, or no parents.';
comment on column partitions.validators is 'Of the last complete read, for a conditional request (Validators); null: none.';

-- The lowest watermark of a lane, null while one of its partitions has none; integers compare as numbers.
create function lane_watermark(lane bigint) returns text language sql stable as $$
  select case
    when count(*) > count(watermark) then null
    when bool_and(watermark ~ '^-?[0-9]+$')
      then min(case when watermark ~ '^-?[0-9]+$' then watermark::numeric end)::text
    else min(watermark collate "C") end
  from partitions where lane_id = lane $$;

-- One row per record ever seen: the table that decides how large this database becomes, so a row is as small as it can be.
-- Fixed lengths come first, so that nothing is lost to alignment. Its org is that of its lane: every query asks for the lane
-- by its org. It has no foreign key on purpose: a check per row would cost more than the row itself, and every write happens
-- under the lock of its lane's run.
create type record_status as enum ('delivered', 'quarantined', 'deleted');
create table record_state (
  lane_id bigint not null,
  seen_run bigint,
  changed_at timestamptz,
  status record_status not null,
  hash bytea not null,
  external_id text not null,
  cursor text,
  partition text not null default '',
  fields jsonb,
  primary key (lane_id, external_id)
) with (
  -- Room in each page for the next versions of its records: no index changes with them.
  fillfactor = 90,
  -- A hundredth of a large table is a lot of work by itself; the default, a fifth, would come too late.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
comment on column record_state.hash is 'Fingerprint of the record as last acknowledged, 15 bytes; committed only with the acknowledgement.';
comment on column record_state.cursor is 'Cursor value of that version in canonical form; null when it had none.';
comment on column record_state.partition is 'Where a full scan saw it last; empty: no partition, or nobody asks.';
comment on column record_state.seen_run is 'runs.seq of the last full scan that saw it; null: none did.';
comment on column record_state.changed_at is 'When this version was recorded; null: no resource is read once per record of this one.';
comment on column record_state.fields is 'What resources below this one refer to; null: nothing is kept.';
-- A full scan of one partition looks at its records only.
create index record_state_scan on record_state (lane_id, partition) where partition <> '';

create table quarantine (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  external_id text not null,
  raw_json jsonb not null,
  each_json jsonb not null default '{}',
  validation_errors jsonb not null,
  run_id text not null,
  created_at timestamptz not null default now(),
  requeued_at timestamptz,
  resolved_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id)
);
comment on column quarantine.each_json is 'Values of the partition it was read in.';
comment on column quarantine.requeued_at is 'Asked for again and not tried yet: the next run of the resource begins with it.';
create unique index quarantine_one_open_per_record
  on quarantine (connection_id, resource_key, external_id) where resolved_at is null;
create index quarantine_by_connection on quarantine (connection_id, id desc);
create index quarantine_by_run on quarantine (run_id, id);
create index quarantine_requeued on quarantine (connection_id, resource_key, id) where requeued_at is not null;
create index quarantine_resolved on quarantine (resolved_at) where resolved_at is not null and requeued_at is null;
