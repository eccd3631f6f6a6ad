-- A resource is overdue only once its schedules have had the time to bring it up to date.
alter table schedules add column fires_since timestamptz;
comment on column schedules.fires_since is 'When it was enabled, or its connection became active, whichever was last; null: when it was made.';
