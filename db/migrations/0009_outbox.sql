-- What was sent, and is to be sent, to destinations that keep no checkpoint: one row per lane, beside it the requests of
-- its pending batch.
create table outboxes (
  org_id text not null,
  lane_id bigint primary key,
  target bytea not null,
  run_id text,
  batch_no integer,
  receipt text,
  carried_run_id text,
  carried_receipt text,
  pending_run_id text,
  pending_batch_no integer,
  pending_draft text,
  pending_rejected text,
  sequence integer not null default 0,
  sequence_run_id text,
  bytes_max integer,
  bytes_max_run_id text,
  failures integer not null default 0,
  failing_since timestamptz,
  failing_run_id text,
  unique (org_id, lane_id),
  foreign key (org_id, lane_id) references lanes (org_id, id) on delete cascade,
  check (num_nulls(run_id, batch_no, receipt) in (0, 3)),
  check (num_nulls(pending_run_id, pending_batch_no, pending_draft, pending_rejected) in (0, 4)),
  check (num_nulls(carried_run_id, carried_receipt) in (0, 2))
);
comment on column outboxes.target is 'Hash of where it goes; another one is a new destination.';
comment on column outboxes.run_id is 'Of the last batch with a final response; null: none.';
comment on column outboxes.carried_run_id is 'The run that sent what an earlier run had left; null: none, or it is over.';
comment on column outboxes.carried_receipt is 'Of that batch.';
comment on column outboxes.pending_draft is 'What its receipt is made of once it is known which records are refused.';
comment on column outboxes.pending_rejected is 'JSON text: the records that are refused so far.';
comment on column outboxes.sequence is 'Of the last request that run sequence_run_id stored.';
comment on column outboxes.bytes_max is 'What the receiver takes in one request, as run bytes_max_run_id found out; null: no bound known.';
comment on column outboxes.failures is 'Failures of the receiver in a row, since failing_since, within run failing_run_id.';

create table outbox_parts (
  org_id text not null,
  lane_id bigint not null,
  path text not null,
  again boolean not null,
  id text not null,
  body bytea not null,
  indexes integer[] not null,
  primary key (lane_id, again, path),
  foreign key (org_id, lane_id) references outboxes (org_id, lane_id) on delete cascade
);
comment on table outbox_parts is 'Requests without a final response.';
comment on column outbox_parts.path is 'Its place in the batch; halves of `1` are `1.0` and `1.1`.';
comment on column outbox_parts.again is 'Records that the receiver wants once more; sent last.';
comment on column outbox_parts.body is 'The bytes that are signed and sent; never jsonb, which would not keep them.';
comment on column outbox_parts.indexes is 'Positions of its records in the batch.';
