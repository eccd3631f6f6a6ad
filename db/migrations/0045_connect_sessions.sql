-- A customer connects an account, or corrects a connection, on a page of the service.

alter table orgs
  add column connect_name text,
  add column connect_color text,
  add column connect_logo text;
comment on column orgs.connect_name is 'How the org is called on the page for customers; null: by its name.';
comment on column orgs.connect_color is 'The color of its buttons, as #rrggbb; null: that of the page.';
comment on column orgs.connect_logo is 'A picture as a data URL; null: none.';

alter table connections add column customer_params text[];
comment on column connections.customer_params is 'The params that its customer entered in a connect session; null: the org entered all.';

create table connect_sessions (
  id text primary key,
  org_id text not null references orgs (id),
  token_hash bytea not null,
  state text not null default 'open' check (state in ('open', 'connected', 'expired', 'canceled')),
  step text not null check (step in ('values', 'authorize', 'test', 'confirm', 'done')),
  workspace_id text,
  spec_id text,
  spec_version text,
  spec_key text not null,
  display_name text not null,
  external_customer_id text,
  spec_overrides_json jsonb,
  connection_id text,
  asked_params text[] not null,
  authorizes boolean not null,
  from_embed boolean not null,
  new_account boolean not null,
  resource_keys text[] not null,
  schedules_json jsonb not null,
  return_url text,
  allowed_origins text[] not null,
  problem_json jsonb,
  attempt_no int not null default 0,
  tested text[] not null default '{}',
  confirm_hash bytea,
  busy_until timestamptz,
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  created_at timestamptz not null default now(),
  opened_at timestamptz,
  expires_at timestamptz not null,
  ended_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, workspace_id) references workspaces (org_id, id),
  foreign key (org_id, spec_id, spec_version) references spec_versions (org_id, spec_id, version),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade,
  check (num_nulls(workspace_id, spec_id, spec_version) in (0, 3)),
  check (spec_id is not null or connection_id is not null),
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4)),
  check ((state = 'open') = (ended_at is null)),
  check (state = 'open' or ciphertext is null)
);
create index connect_sessions_listed on connect_sessions (org_id, id);
create index connect_sessions_open on connect_sessions (expires_at) where state = 'open';
create index connect_sessions_ended on connect_sessions (ended_at) where state <> 'open';
create index connect_sessions_connection on connect_sessions (connection_id) where connection_id is not null;
comment on column connect_sessions.step is 'Where the customer is; done: the session has ended.';
comment on column connect_sessions.spec_id is 'Of the connection that it makes; null: its connection was there before.';
comment on column connect_sessions.connection_id is 'Null: the customer has entered nothing yet, or what the session made is removed.';
comment on column connect_sessions.asked_params is 'The params that the customer sees and enters; the org has fixed all others.';
comment on column connect_sessions.authorizes is 'Whether the customer has to consent at the provider even if a grant is there.';
comment on column connect_sessions.from_embed is 'Whether an embed token made it: the next such one of its connection takes its place.';
comment on column connect_sessions.resource_keys is 'The resources that are synced as soon as the customer is connected.';
comment on column connect_sessions.problem_json is 'Why the last act of the customer failed: about the values and grants of attempt_no. Null: it did not.';
comment on column connect_sessions.attempt_no is 'Counts changes of values and grants, so that a test of earlier ones counts no more.';
comment on column connect_sessions.tested is 'The parts whose test has succeeded with the values and grants of attempt_no.';
comment on column connect_sessions.confirm_hash is 'SHA-256 of the code by which the org confirms who was there; null: not yet, or it needs none.';
comment on column connect_sessions.busy_until is 'Until then one request alone changes its connection; null: none does.';
comment on column connect_sessions.ciphertext is 'Sealed: what the org fixed until there is a connection, what waits to be applied, the codes of grants. Null: it has ended.';

alter table pending_grants
  add column session_id text,
  add foreign key (org_id, session_id) references connect_sessions (org_id, id) on delete cascade;
comment on column pending_grants.session_id is 'The connect session with which it ends, and without a revocation; null: an org began it by an API key.';

alter table oauth_states
  add column session_id text,
  add column browser_hash bytea,
  add foreign key (org_id, session_id) references connect_sessions (org_id, id) on delete cascade,
  add check ((session_id is null) = (browser_hash is null));
comment on column oauth_states.session_id is 'The connect session that it belongs to; null: the org began it by an API key.';
comment on column oauth_states.browser_hash is 'SHA-256 of the cookie of the browser that began it, the only one that may finish it.';
