-- OAuth clients of an org, for the connections of all its customers.
create table oauth_apps (
  id text primary key,
  org_id text not null references orgs (id),
  key text not null,
  workspace_kind text check (workspace_kind in ('dev', 'staging', 'prod')),
  client_id text not null,
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (org_id, id),
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4))
);
comment on table oauth_apps is 'Deleted only while no connection uses them; nothing else refers to a row.';
comment on column oauth_apps.workspace_kind is 'Null: for connections of each workspace whose kind has no app of that key.';
comment on column oauth_apps.ciphertext is 'The sealed client secret; null: a public client.';
create unique index oauth_apps_by_key on oauth_apps (org_id, key, coalesce(workspace_kind, ''));

alter table connections add column oauth_apps text[] not null default '{}';
comment on column connections.oauth_apps is 'Keys of the apps that its effective spec names; written with the pinned version and the overrides.';
create index connections_with_oauth_apps on connections (org_id) where oauth_apps <> '{}' and deleted_at is null;

alter table tokens add column keep_alive_at timestamptz;
comment on column tokens.keep_alive_at is 'When its refresh token is used if no run does so before; null: never. Written with the token, and when the spec of the connection changes.';
create index tokens_keep_alive on tokens (keep_alive_at) where keep_alive_at is not null;
