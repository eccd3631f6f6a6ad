-- What a customer's API said of lookups and enrichments, kept so that it is not asked again.
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
comment on column lookup_cache.key is 'Hash of what was asked for, of the spec''s words for it and of the connection''s values.';
comment on column lookup_cache.value is 'JSON text as it came: jsonb would sort its keys and refuse NUL. Null: the API has no such thing.';
create index lookup_cache_expired on lookup_cache (expires_at);
