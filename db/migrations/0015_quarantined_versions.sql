-- A quarantine row holds one version of a record. There is one open row per record, but of a table that is appended to one per
-- version.
alter table quarantine add column version text not null default '';
comment on column quarantine.version is 'Digest of the record where each of its versions counts (mode append); empty elsewhere.';
drop index quarantine_one_open_per_record;
create unique index quarantine_one_open_per_version
  on quarantine (connection_id, resource_key, external_id, version) where resolved_at is null;
-- What a newer version ends: rows that are open, and those that wait for another try.
create index quarantine_live on quarantine (connection_id, resource_key, external_id)
  where resolved_at is null or requeued_at is not null;

-- Null takes no room: nearly all records were delivered.
alter table record_state add column undelivered boolean;
comment on column record_state.undelivered is 'True: it is quarantined, and nothing of it is at the destination. Null: that is not so, or not known.';
