-- Events: what happened in an org, which endpoints receive it, and every attempt to send it.

-- No foreign keys but the org's: an event outlives its subject.
create table webhook_events (
  id text primary key,
  org_id text not null references orgs (id),
  type text not null,
  workspace_id text,
  connection_id text,
  run_id text,
  sequence bigint,
  occurred_at timestamptz not null,
  payload bytea not null,
  payload_sha256 bytea not null,
  unique (org_id, id)
);
comment on column webhook_events.id is 'Hash of what happened: the same event cannot be recorded twice. Sent as webhook-id.';
comment on column webhook_events.sequence is 'Counts the events of the connection without gaps; null: it is about no connection.';
comment on column webhook_events.payload is 'The bytes that are signed and sent; never jsonb, which would not keep them.';
create index webhook_events_by_org on webhook_events (org_id, occurred_at desc);
create index webhook_events_by_age on webhook_events (occurred_at);

create table event_sequences (
  org_id text not null,
  connection_id text primary key,
  last bigint not null,
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade
);
comment on table event_sequences is 'Not a column of connections: its lock is taken last, whatever else a transaction holds.';

create table webhook_endpoints (
  id text primary key,
  org_id text not null references orgs (id),
  url text not null,
  description text,
  event_types text[],
  connection_ids text[],
  workspace_ids text[],
  enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('manual', 'gone', 'failing')),
  rate_limit_per_second integer check (rate_limit_per_second >= 1),
  max_in_flight integer not null check (max_in_flight >= 1),
  timeout_ms integer not null,
  ordering text not null check (ordering in ('any', 'fifo')),
  signature_schemes text[] not null,
  consecutive_failures integer not null default 0,
  first_failure_at timestamptz,
  last_success_at timestamptz,
  probing_since timestamptz,
  next_probe_at timestamptz,
  paused_until timestamptz,
  send_window integer,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (org_id, id)
);
comment on column webhook_endpoints.event_types is 'Null: every type that is on by default.';
comment on column webhook_endpoints.connection_ids is 'Null: every connection.';
comment on column webhook_endpoints.workspace_ids is 'Null: every workspace.';
comment on column webhook_endpoints.disabled_reason is 'Null while it is enabled.';
comment on column webhook_endpoints.rate_limit_per_second is 'Null: no limit but max_in_flight.';
comment on column webhook_endpoints.first_failure_at is 'Of the failures in a row under way; null: the last attempt succeeded, or there was none.';
comment on column webhook_endpoints.probing_since is 'Too many failures in a row: only its oldest message is tried, at next_probe_at. Null: it is not probed.';
comment on column webhook_endpoints.paused_until is 'The receiver wants no request until then (Retry-After).';
comment on column webhook_endpoints.send_window is 'Requests at once while it comes back from probing; null: max_in_flight.';
comment on column webhook_endpoints.deleted_at is 'Deleted: it reads as absent from here on; the row is deleted once the log of its deliveries is.';
create index webhook_endpoints_by_org on webhook_endpoints (org_id, id) where deleted_at is null;
create index webhook_endpoints_deleted on webhook_endpoints (deleted_at) where deleted_at is not null;

create table webhook_endpoint_secrets (
  id text primary key,
  org_id text not null,
  endpoint_id text not null,
  scheme text not null check (scheme in ('v1', 'v1a')),
  kek_id text not null,
  wrapped_key bytea not null,
  nonce bytea not null,
  ciphertext bytea not null,
  hint text not null,
  public_key text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  foreign key (org_id, endpoint_id) references webhook_endpoints (org_id, id)
);
comment on column webhook_endpoint_secrets.hint is 'Its last four characters.';
comment on column webhook_endpoint_secrets.public_key is 'Of a v1a key pair, as receivers take it (whpk_…); null for v1.';
comment on column webhook_endpoint_secrets.expires_at is 'Null: the current one of its scheme. Set: a previous one, signed with beside it until then.';
create index webhook_endpoint_secrets_by_endpoint on webhook_endpoint_secrets (endpoint_id);
create unique index webhook_endpoint_secrets_one_current
  on webhook_endpoint_secrets (endpoint_id, scheme) where expires_at is null;
create index webhook_endpoint_secrets_expiring on webhook_endpoint_secrets (expires_at) where expires_at is not null;

create table webhook_recoveries (
  id text primary key,
  org_id text not null,
  endpoint_id text not null,
  since timestamptz not null,
  until timestamptz not null,
  include text[] not null,
  total integer not null,
  created_at timestamptz not null default now(),
  unique (org_id, id),
  foreign key (org_id, endpoint_id) references webhook_endpoints (org_id, id)
);
comment on column webhook_recoveries.total is 'Messages that it made due again; how many of them are through is counted from them.';
create index webhook_recoveries_of_endpoint on webhook_recoveries (endpoint_id);

-- The queue: one row per event and endpoint.
create table webhook_messages (
  seq bigint generated always as identity primary key,
  org_id text not null,
  event_id text not null,
  endpoint_id text not null,
  status text not null check (status in ('pending', 'succeeded', 'exhausted', 'canceled', 'skipped')),
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  lease_token text,
  recovery_id text,
  unique (event_id, endpoint_id),
  foreign key (org_id, event_id) references webhook_events (org_id, id) on delete cascade,
  foreign key (org_id, endpoint_id) references webhook_endpoints (org_id, id),
  foreign key (org_id, recovery_id) references webhook_recoveries (org_id, id),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check (num_nulls(lease_until, lease_token) in (0, 2))
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on column webhook_messages.seq is 'Order of events; an endpoint gets them in it as far as attempts succeed.';
comment on column webhook_messages.status is 'exhausted: every attempt failed; canceled: the receiver said stop, or the endpoint is deleted; skipped: the endpoint was disabled when it happened.';
comment on column webhook_messages.attempts is 'Automatic attempts so far, begun or ended.';
comment on column webhook_messages.lease_until is 'Set: an attempt is under way, and counts as lost after it.';
comment on column webhook_messages.recovery_id is 'The recovery that made it due again; null: none did.';
create index webhook_messages_due on webhook_messages (endpoint_id, next_attempt_at, seq) where status = 'pending';
create index webhook_messages_in_order on webhook_messages (endpoint_id, seq) where status = 'pending';
create index webhook_messages_by_recovery on webhook_messages (recovery_id) where recovery_id is not null;
-- What is left of a deleted endpoint is found without reading every row.
create index webhook_messages_of_endpoint on webhook_messages (endpoint_id);

-- The log: one row per POST, written before it. Partitioned by the time in its id, as call_log is by that of its run.
create table webhook_deliveries (
  created_at timestamptz not null default now(),
  lease_until timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  status_code integer,
  attempt integer not null,
  duration_ms integer,
  delivered boolean not null default false,
  id text collate "C" primary key,
  org_id text not null,
  event_id text not null,
  endpoint_id text not null,
  connection_id text,
  run_id text,
  event_type text not null,
  url text not null,
  trigger text not null check (trigger in ('auto', 'redelivery', 'recover', 'test')),
  redelivery_of text,
  state text not null check (state in ('queued', 'sending', 'done', 'unknown')),
  lease_token text,
  secret_id text,
  error_code text,
  request_headers jsonb,
  response_headers jsonb,
  response_body text,
  foreign key (org_id, event_id) references webhook_events (org_id, id) on delete cascade,
  foreign key (org_id, endpoint_id) references webhook_endpoints (org_id, id),
  check (num_nulls(lease_until, lease_token) in (0, 2))
) partition by range (id);
create table webhook_deliveries_default partition of webhook_deliveries default;
comment on column webhook_deliveries.attempt is 'Counts the attempts of the event at the endpoint from 1, whatever triggered them.';
comment on column webhook_deliveries.redelivery_of is 'The delivery that it repeats; null: it is no redelivery.';
comment on column webhook_deliveries.state is 'queued: requested, not sent yet; sending: its POST is under way; unknown: its worker died, and its result is not known.';
comment on column webhook_deliveries.secret_id is 'The secret of its first signature; null: not sent.';
comment on column webhook_deliveries.request_headers is 'As sent, signatures masked; null: not sent.';
create index webhook_deliveries_by_org on webhook_deliveries (org_id, id desc);
create index webhook_deliveries_of_event on webhook_deliveries (event_id, endpoint_id);
create index webhook_deliveries_open on webhook_deliveries (endpoint_id, id) where state in ('queued', 'sending');
create index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id, id);

-- In one place because three need it: what wakes an endpoint, the sweeper, and the workflow of the endpoint.
create function webhook_endpoint_due_at(endpoint webhook_endpoints) returns timestamptz language sql stable as $$
  select case when due is not null then greatest(due, endpoint.paused_until) end
  from (
    select case
      when endpoint.deleted_at is not null or not endpoint.enabled then null
      when endpoint.probing_since is not null or endpoint.ordering = 'fifo' then (
        select case
          when lease_until is not null then null
          when endpoint.probing_since is not null then endpoint.next_probe_at
          else next_attempt_at end
        from webhook_messages
        where endpoint_id = endpoint.id and status = 'pending'
        order by seq limit 1)
      else (
        select min(next_attempt_at)
        from webhook_messages
        where endpoint_id = endpoint.id and status = 'pending' and lease_until is null)
    end as due) of_messages
$$;
comment on function webhook_endpoint_due_at is 'When its next automatic attempt may be made; null: nothing waits, or an attempt that it waits for is under way.';
