-- A response that repeats a large body is kept without it. Processes of the version before respond with 409 to a repetition.
alter table idempotency_keys add column abridged text;
comment on column idempotency_keys.abridged is 'The response without what its body has too, and where that is; null: not abridged.';
