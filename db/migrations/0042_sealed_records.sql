-- A record is tried again as it was read, not in the masked form that is shown.
alter table quarantine add column sealed_json text;
comment on column quarantine.sealed_json is 'Record and values of its partition without masks, sealed; null: nothing was masked; lost: only the masked form is left.';
-- These are not tried again.
update quarantine set sealed_json = 'lost'
  where (resolved_at is null or requeued_at is not null)
    and (raw_json::text like '%[redacted]%' or each_json::text like '%[redacted]%');
