-- Addresses to which an upstream posts when something is new: each accepted request starts runs.
create table hooks (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  token_hash bytea not null unique,
  resource_keys text[] not null,
  verification jsonb not null,
  dedupe jsonb,
  debounce_seconds integer not null check (debounce_seconds >= 0),
  max_wait_seconds integer not null check (max_wait_seconds >= debounce_seconds),
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id),
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4))
);
comment on column hooks.token_hash is 'SHA-256 of the token in the address; a reader of the table cannot use it.';
comment on column hooks.verification is 'How a request shows that it comes from the upstream; without the secret.';
comment on column hooks.dedupe is 'Where the id of a notification is; null: where the kind of verification has it.';
comment on column hooks.debounce_seconds is 'A run is made when no request has come for so long.';
comment on column hooks.max_wait_seconds is 'A run is made so long after the first request, however many come.';
comment on column hooks.ciphertext is 'The sealed secret of the verification; null: it needs none, or the hook is deleted.';
comment on column hooks.deleted_at is 'Deleted: it reads as absent from here on; its requests still refer to it.';
create index hooks_by_connection on hooks (connection_id, id desc) where deleted_at is null;

-- The log of what came in, kept for 7 days. No bodies, no headers. Partitioned by the time in its id.
create table hook_requests (
  received_at timestamptz not null default now(),
  id text collate "C" primary key,
  org_id text not null,
  hook_id text not null,
  connection_id text not null,
  status text not null check (status in ('accepted', 'duplicate', 'coalesced', 'ignored', 'rejected')),
  reason text,
  dedupe_key bytea,
  foreign key (org_id, hook_id) references hooks (org_id, id)
) partition by range (id);
create table hook_requests_default partition of hook_requests default;
comment on column hook_requests.status is 'coalesced: accepted, and an earlier request already started the same run.';
comment on column hook_requests.reason is 'Why it was ignored or rejected; null: it was neither.';
comment on column hook_requests.dedupe_key is 'Hash of what makes it the same notification as another; null: not compared.';
create index hook_requests_by_hook on hook_requests (hook_id, id desc);
create index hook_requests_by_connection on hook_requests (connection_id);
create index hook_requests_by_dedupe_key on hook_requests (hook_id, dedupe_key) where dedupe_key is not null;
create index hook_requests_default_by_age on hook_requests_default (received_at);

-- What a request starts: a run of a resource that begins after it. It has the partitions of its requests.
create table hook_triggers (
  request_id text collate "C" not null,
  resource_key text not null,
  org_id text not null,
  connection_id text not null,
  pending boolean not null default true,
  run_id text,
  primary key (request_id, resource_key),
  foreign key (org_id, connection_id) references connections (org_id, id),
  check (not pending or run_id is null)
) partition by range (request_id);
create table hook_triggers_default partition of hook_triggers default;
comment on column hook_triggers.pending is 'No run was made for it yet: the workflow, or the sweeper, has it to do.';
comment on column hook_triggers.run_id is 'The run that was made for it, or was waiting already; null: pending, or none may be made.';
create index hook_triggers_pending on hook_triggers (connection_id, resource_key, request_id) where pending;
create index hook_triggers_by_connection on hook_triggers (connection_id);

-- Accepts a request and what it asks for; false: the hook has accepted the same notification before. No index over all
-- partitions can say so: whoever accepts a notification holds its lock to the end of the transaction, and looks once they have it.
create function accept_hook_request(
  request text, org text, hook text, connection text, resource_keys text[], notification bytea
) returns boolean language plpgsql as $$
begin
  if notification is not null then
    perform pg_advisory_xact_lock(hashtextextended(hook || encode(notification, 'hex'), 0));
    if exists (select from hook_requests where hook_id = hook and dedupe_key = notification) then
      return false;
    end if;
  end if;
  insert into hook_requests (id, org_id, hook_id, connection_id, status, dedupe_key)
  values (request, org, hook, connection, 'accepted', notification);
  insert into hook_triggers (request_id, resource_key, org_id, connection_id)
  select request, resource_key, org, connection from unnest(resource_keys) as resource_key;
  return true;
end $$;
