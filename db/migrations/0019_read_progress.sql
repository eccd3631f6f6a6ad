alter table partitions
  add column first_start text,
  add column read_at timestamptz,
  add column deletions_to text;
comment on column partitions.first_start is 'Where its first read began, canonical text: what is before it was never asked for. Null: not known, or everything was.';
comment on column partitions.read_at is 'As of when it was last read to its end, within a tenth of what the API keeps; null: never, or the API keeps everything.';
comment on column partitions.deletions_to is 'Its watermark when the list of deleted records was last read to its end; null: never, or nobody asks.';
