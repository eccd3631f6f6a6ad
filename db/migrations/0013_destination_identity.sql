-- The ledger of a lane describes exactly one state of one destination. Both name it by the same random text, made anew
-- whenever the lane forgets; empty: never forgotten since this column exists.
alter table lanes add column generation text not null default '';
comment on column lanes.generation is 'Names what is known of the lane; a destination that has another one is new to it. Made anew when the lane is forgotten.';
alter table outboxes add column generation text not null default '';
comment on column outboxes.generation is 'lanes.generation that the last completed batch is of.';
