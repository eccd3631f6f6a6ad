alter table schedules add column missed_firings bigint not null default 0;
alter table schedules add column missed_seen_at timestamptz not null default now();
comment on column schedules.missed_firings is 'Firings that Temporal has dropped after their catch-up window, as far as somebody was told.';
comment on column schedules.missed_seen_at is 'When Temporal was last asked for their number.';
create index schedules_by_missed_seen on schedules (missed_seen_at) where deleted_at is null;
