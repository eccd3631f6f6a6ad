create table runs (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  lane_id bigint not null,
  seq bigint generated always as identity,
  concurrent_max integer not null,
  trigger text not null check (trigger in ('manual', 'schedule', 'webhook', 'backfill')),
  trigger_class smallint not null
    generated always as (case trigger when 'manual' then 1 when 'backfill' then 3 else 2 end) stored,
  schedule_id text,
  scheduled_for timestamptz,
  backfill jsonb,
  waits_for text[] not null default '{}',
  status text not null default 'queued'
    check (status in ('queued', 'running', 'succeeded', 'failed', 'partial', 'canceled')),
  created_at timestamptz not null default now(),
  dispatched_at timestamptz,
  ready_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  progressed_at timestamptz,
  spec_version text,
  spec_overrides_json jsonb,
  params_json jsonb,
  attempts integer not null default 0,
  restarts integer not null default 0,
  batch_no integer not null default 0,
  page_no integer not null default 0,
  position jsonb,
  read_completed boolean not null default false,
  incomplete boolean not null default false,
  records_in bigint not null default 0,
  records_out bigint not null default 0,
  skipped bigint not null default 0,
  deleted bigint not null default 0,
  quarantined bigint not null default 0,
  invalid bigint not null default 0,
  watermark_before text,
  watermark_after text,
  error_code text,
  error_message text,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id),
  foreign key (org_id, lane_id) references lanes (org_id, id),
  foreign key (org_id, schedule_id) references schedules (org_id, id),
  check (num_nulls(schedule_id, scheduled_for) in (0, 2))
) with (
  -- A run is changed several times and then never again. The default, a fifth of all runs ever made, would come too late.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
comment on column runs.seq is 'Order of arrival; the lane serves the smallest first.';
comment on column runs.concurrent_max is 'Runs of the connection that may run at once: http.rateLimit.maxConcurrent, as a run sends one request at a time.';
comment on column runs.trigger_class is 'Within its org people go before timetables and notifications, and these before backfills.';
comment on column runs.scheduled_for is 'The firing that it is of; a firing makes one run, however often it is tried.';
comment on column runs.backfill is '{from, force} of a backfill; null: an ordinary run.';
comment on column runs.waits_for is 'Keys of resources whose active runs it lets pass first.';
comment on column runs.dispatched_at is 'When Temporal took the run; null and queued: the sweeper starts it.';
comment on column runs.ready_at is 'When it last tried to begin and its lane was free, so that something else held it back; or when its lane became free. Null: neither yet.';
comment on column runs.cancel_requested_at is 'Seen by the chunk with every batch it records.';
comment on column runs.progressed_at is 'Last sign of life: something was recorded, or its workflow was seen open. The sweeper checks the silent ones.';
comment on column runs.spec_version is 'What the run began with, so that a change of the connection reaches the next run only; null: not begun.';
comment on column runs.attempts is 'Attempts since the last recorded batch: the progress-aware retry budget.';
comment on column runs.restarts is 'How often its workflow was lost (terminated, or its Temporal namespace wiped) and started again.';
comment on column runs.batch_no is 'The last batch recorded.';
comment on column runs.position is 'Where reading continues after the last recorded batch (RunPosition); null at the start.';
comment on column runs.read_completed is 'The read reached its end and all of it is recorded; position has no meaning any more.';
comment on column runs.incomplete is 'Something was left out on purpose (a partition, deletes held back), so it ends partial.';
comment on column runs.invalid is 'Records that failed in the pipeline, whether quarantined or skipped.';
comment on column runs.error_message is 'Safe to show: no values of records, no secrets.';

create unique index runs_one_running_per_lane on runs (lane_id) where status = 'running';
create unique index runs_one_per_firing on runs (schedule_id, scheduled_for) where schedule_id is not null;
create index runs_queue on runs (lane_id, seq) where status = 'queued';
create index runs_not_dispatched on runs (created_at) where status = 'queued' and dispatched_at is null;
create index runs_open on runs (progressed_at) where status in ('queued', 'running');
create index runs_by_org on runs (org_id, id desc);
create index runs_by_connection on runs (connection_id, id desc);
-- An org has so many runs under way at once; the next of those that wait is found by its class and its arrival.
create index runs_running_by_connection on runs (connection_id) where status = 'running';
create index runs_running_by_org on runs (org_id) where status = 'running';
create index runs_ready on runs (org_id, trigger_class, seq) where status = 'queued' and ready_at is not null;
-- How up to date a connection is, read in a moment however many runs there were.
create index runs_by_lane on runs (lane_id, seq desc);
create index runs_succeeded on runs (lane_id, seq desc) where status = 'succeeded';

create table run_pages (
  org_id text not null,
  run_id text not null,
  page_no integer not null,
  batch_no integer not null,
  request_key text not null,
  records_in integer not null,
  records_out integer not null,
  skipped integer not null,
  quarantined integer not null,
  invalid integer not null default 0,
  deleted integer not null default 0,
  recorded_at timestamptz not null default now(),
  primary key (run_id, page_no),
  foreign key (org_id, run_id) references runs (org_id, id) on delete cascade
);
comment on table run_pages is 'The ledger: one row for each page that is complete; none if the only batch ended its run and brought nothing.';
comment on column run_pages.request_key is 'Hash of the page''s token or URL; a repeat within one window is a loop.';

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

-- Partitioned by the time in the id of the run, so that the calls of a run are in one partition, and old ones are dropped as a
-- whole (src/maintenance/partition-sweep.ts). Ids compare byte by byte there, whatever the locale of the database. Fixed lengths
-- come first, so that nothing is lost to alignment.
create table call_log (
  sequence bigint not null,
  created_at timestamptz not null default now(),
  status_code integer,
  duration_ms integer,
  attempt integer not null,
  cache_hit boolean not null,
  id text not null,
  org_id text not null,
  run_id text collate "C" not null,
  method text not null,
  url text not null,
  req_headers_redacted jsonb not null,
  req_body_redacted text,
  resp_headers jsonb not null,
  resp_body_truncated text,
  error_code text,
  foreign key (org_id, run_id) references runs (org_id, id) on delete cascade
) partition by range (run_id);
create index call_log_by_run on call_log (run_id, sequence);
-- Calls of a run may be much younger than the run: before a partition is dropped, they are looked for.
create index call_log_by_age on call_log using brin (created_at) with (autosummarize = on);
-- What belongs to no other partition: nothing that is inserted fails. Old rows are deleted here one by one.
create table call_log_default partition of call_log default;
create index call_log_default_by_age on call_log_default (created_at);
