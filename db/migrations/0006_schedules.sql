-- A cron-driven trigger of one resource of one connection. The row says what is wanted; Temporal's schedule follows it.
create table schedules (
  id text primary key,
  org_id text not null,
  connection_id text not null,
  resource_key text not null,
  cron text not null,
  timezone text not null,
  longest_gap_seconds integer not null,
  enabled boolean not null default true,
  version integer not null default 1,
  applied_version integer not null default 0,
  apply_at timestamptz not null,
  missed_firings bigint not null default 0,
  missed_seen_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (org_id, id),
  foreign key (org_id, connection_id) references connections (org_id, id)
);
comment on column schedules.timezone is 'As it was given; Temporal gets the name of the zone in the database of zones.';
comment on column schedules.longest_gap_seconds is 'The longest time between two of its firings.';
comment on column schedules.version is 'Rises with each change that Temporal has to have, the status of the connection too.';
comment on column schedules.applied_version is 'The version that Temporal has; smaller than version: the sweeper applies it.';
comment on column schedules.apply_at is 'When the sweeper does so: until then the request that changed it does.';
comment on column schedules.missed_firings is 'Firings that Temporal has dropped after their catch-up window and that events have reported.';
comment on column schedules.missed_seen_at is 'When their number was last read from Temporal.';
comment on column schedules.deleted_at is 'Deleted: it reads as absent from here on; runs still refer to it.';
create index schedules_by_connection on schedules (connection_id, id desc) where deleted_at is null;
create index schedules_not_applied on schedules (apply_at) where applied_version < version;
create index schedules_by_missed_seen on schedules (missed_seen_at) where deleted_at is null;
