alter table partitions add column shape text;
comment on column partitions.shape is 'Digest of what of its values shaped its records when it was last read to its end; null: nothing did, or it is not known.';
