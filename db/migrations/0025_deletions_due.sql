-- Records that say that they are deleted: a run deletes them at its end, when it knows how many there are.
alter table record_state add column flagged_run bigint;
comment on column record_state.flagged_run is 'runs.seq of the last run that read it as deleted, while its deletion is to be made. Null: its last version lives, or is deleted.';
create index record_state_flagged on record_state (lane_id) where flagged_run is not null;
