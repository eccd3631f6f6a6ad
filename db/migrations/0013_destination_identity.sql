-- The ledger of a lane describes exactly one state of one destination. Both name it by the same random text, made anew
-- whenever the lane forgets; empty: never forgotten since this column exists.
alter table lanes add column generation text not null default '';
comment on column lanes.generation is 'Names what is known of the lane; a destination that has another one is new to it. Made anew when the lane is forgotten.';
alter table outboxes add column generation text not null default '';
comment on column outboxes.generation is 'lanes.generation that the last completed batch is of.';

-- The destination of a run may lose what it had applied: it crashes, or is restored. Then its checkpoint is older than this.
alter table runs add column applied_no integer not null default 0;
comment on column runs.applied_no is 'The last of its batches that its destination has applied and this database has recorded; 0: none.';
create index runs_applied on runs (lane_id, seq desc) where applied_no > 0;
