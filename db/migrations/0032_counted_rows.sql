-- Rows that an org could add without end are counted, by an index each.
alter table spec_versions
  add column document_bytes integer not null generated always as (octet_length(spec_json::text)) stored;
comment on column spec_versions.document_bytes is 'Of spec_json as text: those of an org have a limit together.';
create index spec_versions_bytes on spec_versions (org_id) include (document_bytes);

alter table hook_requests add column starts_nothing boolean not null default false;
comment on column hook_requests.starts_nothing is 'It was rejected, ignored or a duplicate when it came: an org has so many in an hour.';
create index hook_requests_starting_nothing on hook_requests (org_id, id) where starts_nothing;

create index webhook_deliveries_requested on webhook_deliveries (org_id, id) where trigger in ('redelivery', 'test');
create index webhook_recoveries_by_org on webhook_recoveries (org_id, created_at);
