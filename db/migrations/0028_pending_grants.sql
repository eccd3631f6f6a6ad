-- A grant can wait until the org has confirmed who gave it, so that nobody connects the account of somebody else.

alter table orgs
  add column oauth_return_origins text[] not null default '{}',
  add column oauth_confirmation_required boolean not null default false;
comment on column orgs.oauth_return_origins is 'The origins that a customer may be sent to after an authorization.';
comment on column orgs.oauth_confirmation_required is 'Whether every authorization has to be confirmed by the org.';

alter table oauth_states add column return_url text;
comment on column oauth_states.return_url is 'Where the customer is sent to, whose grant is then confirmed; null: the callback itself stores it.';

-- Grants that wait to be confirmed; of each slot the one that came last.
create table pending_grants (
  org_id text not null,
  connection_id text not null,
  slot text not null,
  code_fingerprint text not null,
  new_account boolean not null,
  kek_id text,
  wrapped_key bytea,
  nonce bytea,
  ciphertext bytea,
  expires_at timestamptz not null,
  primary key (connection_id, slot),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade,
  check (num_nulls(kek_id, wrapped_key, nonce, ciphertext) in (0, 4))
);
create index pending_grants_expired on pending_grants (expires_at);
comment on column pending_grants.slot is 'As in tokens.';
comment on column pending_grants.code_fingerprint is 'Keyed fingerprint of the code that confirms it, with its org and connection.';
comment on column pending_grants.new_account is 'Whether it may be of another account than the stored grant.';
comment on column pending_grants.ciphertext is 'The sealed token; null: it was confirmed.';
