-- An org has so many runs under way at once; the next of those that wait is found by its class and its arrival.
alter table runs add column trigger_class smallint not null
  generated always as (case trigger when 'manual' then 1 when 'backfill' then 3 else 2 end) stored;
comment on column runs.trigger_class is 'Within its org people go before timetables and notifications, and these before backfills.';
alter table runs add column ready_at timestamptz;
comment on column runs.ready_at is 'When it last asked to begin and its lane was free, so that something else held it back; or when its lane became free. Null: neither yet.';
create index runs_running_by_org on runs (org_id) where status = 'running';
create index runs_ready on runs (org_id, trigger_class, seq) where status = 'queued' and ready_at is not null;
