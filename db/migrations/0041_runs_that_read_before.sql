-- A rewind must know which runs delivered records from before their watermark; rows of quarantine are kept for a time only.
alter table runs add column retried boolean;
alter table runs alter column retried set default false;
comment on column runs.retried is 'Whether it tried records of quarantine again; null: not known, as it began before this was noted.';
