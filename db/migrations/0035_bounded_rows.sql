-- A response that repeats a large body is kept without it. Processes of the version before respond with 409 to a repetition.
alter table idempotency_keys add column abridged text;
comment on column idempotency_keys.abridged is 'The response without what its body has too, and where that is; null: not abridged.';

create index hook_requests_starting on hook_requests (org_id, id) where not starts_nothing;

-- Whether a run follows a request to a hook without a row of its own, since an earlier one waits for a run of the resource that
-- is not due later: a queued run, or one that is yet to be made. Those who let it begin wait for this transaction, or are not
-- waited for. Where the runs of a hook are put off by each request, the last one that waits is said to have come now; the first
-- one stays as it is, so that they are not put off for ever.
create function follows_waiting_hook_request(
  hook text, org text, connection text, resource text, due timestamptz
) returns boolean language plpgsql as $$
declare
  latest text;
begin
  if due > now() then
    perform from hook_triggers
      where org_id = org and connection_id = connection and resource_key = resource and pending and not_before <= due
      limit 1 for share skip locked;
    return found;
  end if;
  perform from runs
    where org_id = org and connection_id = connection and resource_key = resource and status = 'queued'
      and trigger <> 'backfill' and cancel_requested_at is null
      and exists (select from hook_triggers where hook_triggers.run_id = runs.id)
    limit 1 for share skip locked;
  if found then
    return true;
  end if;
  select request_id into latest
    from hook_triggers join hook_requests on hook_requests.id = request_id
    where hook_triggers.org_id = org and hook_triggers.connection_id = connection and resource_key = resource
      and pending and not_before is null and hook_id = hook
    order by request_id desc limit 1 for share of hook_triggers skip locked;
  if latest is null or not exists (
    select from hook_triggers join hook_requests on hook_requests.id = request_id
    where hook_triggers.org_id = org and hook_triggers.connection_id = connection and resource_key = resource
      and pending and not_before is null and hook_id = hook and request_id < latest
  ) then
    return false;
  end if;
  perform from hook_requests
    where org_id = org and id = latest and received_at < now() - interval '250 milliseconds' for update skip locked;
  if found then
    update hook_requests set received_at = now() where org_id = org and id = latest;
  end if;
  return true;
end $$;

-- As before, but an org that has stored as many requests of an hour as it may (`is_full`) stores another one only for resources
-- whose next run it would otherwise not wait for. 'accepted': it is stored; 'followed': it is not, and a run follows it;
-- 'duplicate': the hook has accepted the same notification before.
create function accept_hook_request(
  request text, org text, hook text, connection text, resource_keys text[],
  notifications bytea[], has_id boolean, contents bytea[], repeat_seconds integer, repeat_reason text, is_full boolean
) returns text language plpgsql as $$
declare
  latest timestamptz;
  due timestamptz;
  stored_keys text[] := resource_keys;
begin
  if notifications is not null then
    perform pg_advisory_xact_lock(hashtextextended(hook || encode(notifications[cardinality(notifications)], 'hex'), 0));
    if exists (
      select from hook_requests
      where hook_id = hook and dedupe_key = any(notifications) and (has_id or exists (
        select from hook_triggers where hook_triggers.request_id = hook_requests.id and hook_triggers.pending))
    ) then
      return 'duplicate';
    end if;
  end if;
  if exists (select from hook_requests where hook_id = hook and content_key = any(contents)) then
    select repeat_due into latest from hook_requests
      where hook_id = hook and repeat_due is not null order by id desc limit 1;
    due := case when latest > now() then latest
      else greatest(now(), latest + make_interval(secs => repeat_seconds)) end;
  end if;
  if is_full then
    stored_keys := array(
      select resource_key from unnest(resource_keys) as resource_key
      where not follows_waiting_hook_request(hook, org, connection, resource_key, due));
    if cardinality(stored_keys) = 0 then
      return 'followed';
    end if;
  end if;
  insert into hook_requests (id, org_id, hook_id, connection_id, status, reason, dedupe_key, content_key, repeat_due)
  values (request, org, hook, connection, 'accepted', case when due > now() then repeat_reason end,
    notifications[1], contents[1], due);
  insert into hook_triggers (request_id, resource_key, org_id, connection_id, not_before)
  select request, resource_key, org, connection, case when due > now() then due end
  from unnest(stored_keys) as resource_key;
  return 'accepted';
end $$;
