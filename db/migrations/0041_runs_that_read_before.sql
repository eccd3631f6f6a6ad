-- A rewind must know which runs delivered records from before their watermark.
alter table runs add column reads_before boolean;
alter table runs alter column reads_before set default false;
comment on column runs.reads_before is 'Whether it retried records of quarantine, or read a partition of its lane from its beginning; null: not known, as it began before this was noted.';
