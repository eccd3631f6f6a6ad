-- A plain hash of an address that holds a secret lets a reader of the table try a list of words.
alter table outboxes
  add column address text,
  alter column target drop not null,
  add check (num_nulls(address, target) = 1);
comment on column outboxes.address is 'Where it goes, sealed; another address is a new destination. Null: a version before stored it as a hash.';
comment on column outboxes.target is 'SHA-256 of where it goes, as a version before stored it, until the next run; null: see address.';
