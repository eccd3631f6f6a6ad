-- What is kept for a while only is found by its age. Ledgers of runs need no index: their primary keys begin with the
-- run's id, and ids sort by time.
create index call_log_by_age on call_log (created_at);
create index quarantine_resolved on quarantine (resolved_at) where resolved_at is not null and requeued_at is null;
