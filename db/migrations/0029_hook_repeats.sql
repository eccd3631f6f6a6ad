-- A signed request can be sent again by whoever captured it, under another id where the id is not signed. Each of them is still
-- followed by a run, but those runs come once a minute at most.
alter table hook_requests
  add column content_key bytea,
  add column repeat_due timestamptz;
comment on column hook_requests.dedupe_key is 'Keyed fingerprint of what makes it the same notification as another; null: not compared.';
comment on column hook_requests.content_key is 'Keyed fingerprint of what its signature covers; null: the kind signs nothing.';
comment on column hook_requests.repeat_due is 'When its run may be created, as it signs what came before; null: it does not.';
create index hook_requests_by_content_key on hook_requests (hook_id, content_key) where content_key is not null;
create index hook_requests_by_repeat on hook_requests (hook_id, id desc) where repeat_due is not null;

-- As before, with the fingerprints under every key of the ring, the current one first. The function of before stays for
-- processes of the version before.
create function accept_hook_request(
  request text, org text, hook text, connection text, resource_keys text[],
  notifications bytea[], has_id boolean, contents bytea[], repeat_seconds integer, repeat_reason text
) returns boolean language plpgsql as $$
declare
  latest timestamptz;
  due timestamptz;
begin
  if notifications is not null then
    perform pg_advisory_xact_lock(hashtextextended(hook || encode(notifications[cardinality(notifications)], 'hex'), 0));
    if exists (
      select from hook_requests
      where hook_id = hook and dedupe_key = any(notifications) and (has_id or exists (
        select from hook_triggers where hook_triggers.request_id = hook_requests.id and hook_triggers.pending))
    ) then
      return false;
    end if;
  end if;
  if exists (select from hook_requests where hook_id = hook and content_key = any(contents)) then
    select repeat_due into latest from hook_requests
      where hook_id = hook and repeat_due is not null order by id desc limit 1;
    due := case when latest > now() then latest
      else greatest(now(), latest + make_interval(secs => repeat_seconds)) end;
  end if;
  insert into hook_requests (id, org_id, hook_id, connection_id, status, reason, dedupe_key, content_key, repeat_due)
  values (request, org, hook, connection, 'accepted', case when due > now() then repeat_reason end,
    notifications[1], contents[1], due);
  insert into hook_triggers (request_id, resource_key, org_id, connection_id, not_before)
  select request, resource_key, org, connection, case when due > now() then due end
  from unnest(resource_keys) as resource_key;
  return true;
end $$;
