-- Buckets that all connections of an org share have no connection; a primary key takes no null, so `owner` stands for it.
alter table buckets drop constraint buckets_pkey;
alter table buckets alter column connection_id drop not null;
alter table buckets add column owner text not null generated always as (coalesce(connection_id, '')) stored;
alter table buckets add primary key (org_id, owner, name);
alter table buckets add foreign key (org_id) references orgs (id) on delete cascade;
comment on column buckets.connection_id is 'Null: shared by all connections of the org.';

-- The brake of validate.maxInvalidRatio is judged over the whole run, whatever its attempts.
alter table run_pages add column invalid integer not null default 0;
alter table runs add column invalid bigint not null default 0;
comment on column runs.invalid is 'Records that failed in the pipeline, whether quarantined or skipped.';
