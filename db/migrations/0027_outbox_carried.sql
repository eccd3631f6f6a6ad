alter table outboxes
  add column carried_run_id text,
  add column carried_receipt text,
  add check (num_nulls(carried_run_id, carried_receipt) in (0, 2));
comment on column outboxes.carried_run_id is 'The run that sent what an earlier run had left; null: none, or it is over.';
comment on column outboxes.carried_receipt is 'Of that batch.';
