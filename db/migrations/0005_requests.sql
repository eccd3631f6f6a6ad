-- Token buckets (GCRA): one row, one statement per request, true across processes. They need not survive a crash of the
-- server: unlogged, a request costs them no write to the disk. A bucket that all connections of an org share has no
-- connection; a primary key takes no null, so `owner` stands for it.
create unlogged table buckets (
  org_id text not null references orgs (id) on delete cascade,
  connection_id text,
  owner text not null generated always as (coalesce(connection_id, '')) stored,
  name text not null,
  full_at timestamptz not null,
  granted boolean not null,
  primary key (org_id, owner, name),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on column buckets.connection_id is 'Null: shared by all connections of the org.';
comment on column buckets.full_at is 'When the bucket will be full again if nobody takes a token (the theoretical arrival time).';

-- Responses of a customer's API to lookups and enrichments, kept so that they are not requested again.
create table lookup_cache (
  org_id text not null,
  connection_id text not null,
  run_id text not null default '',
  key text not null,
  value text,
  expires_at timestamptz not null,
  primary key (connection_id, run_id, key),
  foreign key (org_id, connection_id) references connections (org_id, id) on delete cascade
);
comment on column lookup_cache.run_id is 'The run that alone may use it; empty: every run of the connection.';
comment on column lookup_cache.key is 'Hash of what is requested, of its part of the spec and of the values of the connection.';
comment on column lookup_cache.value is 'JSON text as it came: jsonb would sort its keys and refuse NUL. Null: the API has no such thing.';
create index lookup_cache_expired on lookup_cache (expires_at);
