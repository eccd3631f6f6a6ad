-- Tenancy: organization, then workspace, then connection. Every table below an org carries org_id, and
-- children point at (org_id, parent_id): a row that crosses orgs cannot exist.

create table orgs (
  id text primary key,
  name text not null,
  plan text not null,
  active_connections_max integer check (active_connections_max >= 0),
  limits jsonb not null default '{}',
  created_at timestamptz not null default now()
);
comment on column orgs.active_connections_max is 'Plan cap on active connections; null means none.';
comment on column orgs.limits is 'Overrides by the operator: name of a limit to a whole number. Names are those of src/core/resources/org-limits.ts.';

create table workspaces (
  id text primary key,
  org_id text not null references orgs (id),
  name text not null,
  kind text not null check (kind in ('dev', 'staging', 'prod')),
  created_at timestamptz not null default now(),
  unique (org_id, id),
  unique (org_id, name)
);

create table api_keys (
  id text primary key,
  org_id text not null references orgs (id),
  workspace_id text,
  lookup_id text not null unique,
  key_hash bytea not null,
  last4 text not null,
  scopes text[] not null,
  created_by_key_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, workspace_id) references workspaces (org_id, id)
);
comment on column api_keys.workspace_id is 'Passed on to the keys that this one creates; restricts nothing.';
comment on column api_keys.lookup_id is 'The 12 characters after ck_: finds the row; not secret.';
comment on column api_keys.key_hash is 'SHA-256 of the whole key; the key itself is never stored.';
comment on column api_keys.scopes is 'Passed on to the keys that this one creates; they restrict nothing.';
comment on column api_keys.last_used_at is 'Updated at most once a minute.';

create table idempotency_keys (
  org_id text not null references orgs (id),
  method text not null,
  path text not null,
  key text not null,
  body_hash text not null,
  status integer,
  response text,
  created_at timestamptz not null default now(),
  locked_until timestamptz not null,
  primary key (org_id, method, path, key)
);
comment on column idempotency_keys.status is 'Null while the first request with this key has no response yet.';
create index idempotency_keys_created_at on idempotency_keys (created_at);

create table secret_canary (
  id integer primary key check (id = 1),
  kek_id text not null,
  wrapped_key bytea not null,
  nonce bytea not null,
  ciphertext bytea not null
);
comment on table secret_canary is 'One sealed row, opened at every start: a wrong key ring is refused before it can do harm.';
