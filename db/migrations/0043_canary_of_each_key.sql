-- Each key that has encrypted has a canary until `keys status` finds nothing that needs the key.
alter table secret_canary drop constraint secret_canary_pkey, drop column id, add primary key (kek_id);
comment on table secret_canary is 'A sealed row of each key that may be needed, opened at every start: a ring without one is refused before it can do harm.';
