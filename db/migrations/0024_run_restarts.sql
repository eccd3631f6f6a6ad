alter table runs add column restarts integer not null default 0;
comment on column runs.restarts is 'How often its workflow was lost (terminated, or its Temporal namespace wiped) and started again.';
