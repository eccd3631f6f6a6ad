-- A full scan of one partition looks at its records only.
create index record_state_scan on record_state (lane_id, partition) where partition <> '';
