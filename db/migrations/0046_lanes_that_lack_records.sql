alter table lanes add column lacks_records boolean not null default false;
comment on column lanes.lacks_records is 'This database was restored from a copy, and the destination may have records that are not known here.';
