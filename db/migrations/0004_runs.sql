-- A lane is the queue of one (connection, resource): at most one run at a time, first in first out.
create table lanes (
  id bigint generated always as identity primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  fence bigint not null default 0,
  unique (org_id, connection_id, resource_key),
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id)
);
comment on column lanes.fence is 'Counts the attempts on this lane. Whoever holds a smaller number than the newest has lost it.';

create table runs (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  lane_id bigint not null,
  seq bigint generated always as identity,
  concurrent_max integer not null,
  trigger text not null check (trigger in ('manual', 'schedule', 'webhook', 'backfill')),
  status text not null default 'queued'
    check (status in ('queued', 'running', 'succeeded', 'failed', 'partial', 'canceled')),
  created_at timestamptz not null default now(),
  dispatched_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  progressed_at timestamptz,
  attempts integer not null default 0,
  batch_no integer not null default 0,
  page_no integer not null default 0,
  position jsonb,
  read_completed boolean not null default false,
  records_in bigint not null default 0,
  records_out bigint not null default 0,
  skipped bigint not null default 0,
  deleted bigint not null default 0,
  quarantined bigint not null default 0,
  watermark_before text,
  watermark_after text,
  error_code text,
  error_message text,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id),
  foreign key (org_id, lane_id) references lanes (org_id, id)
);
comment on column runs.seq is 'Order of arrival; the lane serves the smallest first.';
comment on column runs.concurrent_max is 'Runs of the connection that may run at once: http.rateLimit.maxConcurrent, as a run sends one request at a time.';
comment on column runs.dispatched_at is 'When Temporal took the run; null and queued: the sweeper starts it.';
comment on column runs.cancel_requested_at is 'Seen by the chunk with every batch it records.';
comment on column runs.progressed_at is 'Last sign of life: something was recorded, or its workflow was seen open. The reconciler looks at the silent ones.';
comment on column runs.attempts is 'Attempts since the last recorded batch: the progress-aware retry budget.';
comment on column runs.batch_no is 'The last batch recorded.';
comment on column runs.position is 'Where reading goes on after the last recorded batch (ReadPosition); null at the start.';
comment on column runs.read_completed is 'The read reached its end and all of it is recorded; position has nothing more to say.';
comment on column runs.error_message is 'Safe to show: no values of records, no secrets.';

create unique index runs_one_running_per_lane on runs (lane_id) where status = 'running';
create index runs_queue on runs (lane_id, seq) where status = 'queued';
create index runs_not_dispatched on runs (created_at) where status = 'queued' and dispatched_at is null;
create index runs_open on runs (progressed_at) where status in ('queued', 'running');
create index runs_running_by_connection on runs (connection_id) where status = 'running';
create index runs_by_org on runs (org_id, id desc);
create index runs_by_connection on runs (connection_id, id desc);

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
  recorded_at timestamptz not null default now(),
  primary key (run_id, page_no),
  foreign key (org_id, run_id) references runs (org_id, id) on delete cascade
);
comment on table run_pages is 'The ledger: one row for each page that is complete.';
comment on column run_pages.request_key is 'Hash of the page''s token or URL; a repeat within one window is a loop.';

create table watermarks (
  org_id text not null,
  lane_id bigint not null,
  partition text not null default '',
  watermark text not null,
  updated_at timestamptz not null default now(),
  primary key (lane_id, partition),
  foreign key (org_id, lane_id) references lanes (org_id, id)
);

-- One row per record ever seen. It has no foreign key on purpose: a check per row would cost more than the
-- row itself, and every write happens under the lock of its lane's run.
create table record_state (
  org_id text not null,
  lane_id bigint not null,
  external_id text not null,
  hash bytea not null,
  cursor text,
  status text not null check (status in ('delivered', 'quarantined')),
  primary key (lane_id, external_id)
) with (fillfactor = 85);
comment on column record_state.hash is 'Fingerprint of the record as last acknowledged; committed only with the acknowledgement.';
comment on column record_state.cursor is 'Cursor value of that version in canonical form; null when it had none.';

create table quarantine (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  external_id text not null,
  raw_json jsonb not null,
  validation_errors jsonb not null,
  run_id text not null,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id)
);
create unique index quarantine_one_open_per_record
  on quarantine (connection_id, resource_key, external_id) where resolved_at is null;
create index quarantine_by_connection on quarantine (connection_id, id desc);

create table call_log (
  id text primary key,
  org_id text not null,
  run_id text not null,
  sequence bigint not null,
  method text not null,
  url text not null,
  status_code integer,
  duration_ms integer,
  attempt integer not null,
  cache_hit boolean not null,
  req_headers_redacted jsonb not null,
  req_body_redacted text,
  resp_headers jsonb not null,
  resp_body_truncated text,
  error_code text,
  created_at timestamptz not null default now(),
  foreign key (org_id, run_id) references runs (org_id, id) on delete cascade
);
create index call_log_by_run on call_log (run_id, sequence);

-- Token buckets (GCRA): one row, one statement per request, true across processes.
create table buckets (
  org_id text not null,
  connection_id text not null,
  name text not null,
  full_at timestamptz not null,
  granted boolean not null,
  primary key (connection_id, name),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade
) with (fillfactor = 50);
comment on column buckets.full_at is 'When the bucket will be full again if nobody takes a token (the theoretical arrival time).';
