-- A connection in error is tested again by itself, and goes on when the test succeeds.
alter table connections
  add column error jsonb,
  add column test_at timestamptz,
  add column tests smallint not null default 0,
  add column recovered_at timestamptz;
comment on column connections.error is '{code, message, resourceKey, since, nextTestAt}; null: it is not in error, or a version before put it there.';
comment on column connections.test_at is 'When it is tested again; null: it is not in error, or only its customer can mend it.';
comment on column connections.tests is 'How often it was tested since the first of the errors that follow each other.';
comment on column connections.recovered_at is 'When a test activated it last; null: never.';
create index connections_test_at on connections (test_at) where test_at is not null;
-- Those that nobody has mended for long wait for a person.
update connections set test_at = now() + random() * interval '1 hour'
where status = 'error' and deleted_at is null and error_since > now() - interval '7 days';
