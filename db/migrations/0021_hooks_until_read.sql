-- What a request announces is read by a run that begins after it and succeeds; until then it is tried again.
alter table hook_triggers
  add column failures integer not null default 0,
  add column not_before timestamptz;
comment on column hook_triggers.failures is 'Runs that were made for it and did not read to their end.';
comment on column hook_triggers.not_before is 'When the next run may be made for it; null: at once.';
create index hook_triggers_by_run on hook_triggers (run_id) where run_id is not null;

-- As before, but a notification without an id of its own is compared only with those that still wait for their run: the
-- same words at another time announce something else.
drop function accept_hook_request(text, text, text, text, text[], bytea);
create function accept_hook_request(
  request text, org text, hook text, connection text, resource_keys text[], notification bytea, has_id boolean
) returns boolean language plpgsql as $$
begin
  if notification is not null then
    perform pg_advisory_xact_lock(hashtextextended(hook || encode(notification, 'hex'), 0));
    if exists (
      select from hook_requests
      where hook_id = hook and dedupe_key = notification and (has_id or exists (
        select from hook_triggers where hook_triggers.request_id = hook_requests.id and hook_triggers.pending))
    ) then
      return false;
    end if;
  end if;
  insert into hook_requests (id, org_id, hook_id, connection_id, status, dedupe_key)
  values (request, org, hook, connection, 'accepted', notification);
  insert into hook_triggers (request_id, resource_key, org_id, connection_id)
  select request, resource_key, org, connection from unnest(resource_keys) as resource_key;
  return true;
end $$;
