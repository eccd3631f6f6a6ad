-- Tokens that were obtained with the secrets of a connection, shared by all workers. The row is there before its first
-- token: the process that requests one holds the lease, and no transaction is open meanwhile.
create table tokens (
  org_id text not null,
  connection_id text not null,
  slot text not null,
  lease_no bigint not null default 0,
  lease_until timestamptz,
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  updated_at timestamptz not null default now(),
  primary key (connection_id, slot),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade,
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4))
);
comment on column tokens.slot is 'Empty for the auth of the spec, the key of the resource for one of its own.';
comment on column tokens.lease_no is 'Counts the leases. Whoever holds a smaller number than the newest has lost it.';
comment on column tokens.lease_until is 'Until when the newest lease holds; null: it was given back.';
comment on column tokens.nonce is 'New with each token, so it also tells one from the next.';

-- Authorizations under way: inserted when a customer is sent to the provider, deleted when they come back.
create table oauth_states (
  state_hash bytea primary key,
  org_id text not null,
  connection_id text not null,
  redirect_uri text not null,
  issuer text not null,
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  expires_at timestamptz not null,
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade,
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4))
);
create index oauth_states_connection on oauth_states (org_id, connection_id);
create index oauth_states_expired on oauth_states (expires_at);
comment on column oauth_states.state_hash is 'SHA-256 of the id in the signed state; a reader of the table cannot use it.';
comment on column oauth_states.issuer is 'The origin of the page that the customer was sent to; an `iss` that comes back must have it.';
comment on column oauth_states.ciphertext is 'The sealed PKCE verifier; null without PKCE.';
