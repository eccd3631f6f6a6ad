alter table outboxes
  add column sequence integer not null default 0,
  add column sequence_run_id text;
comment on column outboxes.sequence is 'Of the last request that run sequence_run_id stored.';

-- What was stored so far has the number of its batch: later requests of a run under way have greater ones.
update outboxes set
  sequence = coalesce(pending_batch_no, batch_no, 0), sequence_run_id = coalesce(pending_run_id, run_id);
