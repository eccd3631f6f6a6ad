create table connections (
  id text primary key,
  org_id text not null references orgs (id),
  workspace_id text not null,
  spec_id text not null,
  pinned_spec_version text not null,
  display_name text not null,
  external_customer_id text,
  status text not null check (status in ('pending', 'active', 'paused', 'error')),
  error_since timestamptz,
  params_json jsonb not null,
  spec_overrides_json jsonb,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, workspace_id) references workspaces (org_id, id),
  foreign key (org_id, spec_id, pinned_spec_version) references spec_versions (org_id, spec_id, version)
);
comment on column connections.error_since is 'When it went to error; null: it is not in error.';
comment on column connections.deleted_at is 'Deleted: it reads as absent from here on; the sweeper removes what belongs to it, then this row.';
create index connections_active on connections (org_id) where status = 'active';
create index connections_deleted on connections (deleted_at) where deleted_at is not null;

create table connection_secrets (
  org_id text not null,
  connection_id text not null,
  kind text not null,
  kek_id text not null,
  wrapped_key bytea not null,
  nonce bytea not null,
  ciphertext bytea not null,
  updated_at timestamptz not null default now(),
  primary key (connection_id, kind),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade
);
comment on column connection_secrets.kind is 'What is sealed: params-secret, oauth-token, …; part of the authenticated data.';
