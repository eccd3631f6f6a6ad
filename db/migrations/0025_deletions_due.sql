-- Records that say that they are deleted: a run deletes them at its end, when it knows how many there are.
alter table record_state add column deletion_due boolean;
comment on column record_state.deletion_due is 'True: its last version says that it is deleted, and its deletion is to be made. Null: that is not so.';
create index record_state_deletions_due on record_state (lane_id) where deletion_due;
