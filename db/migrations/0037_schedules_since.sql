-- A resource is overdue only once its schedules have had the time to bring it up to date.
alter table schedules add column fires_since timestamptz not null default now();
comment on column schedules.fires_since is 'When it was made or enabled, or its connection became active, whichever was last.';
update schedules set fires_since = created_at;
