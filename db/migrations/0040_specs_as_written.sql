-- A spec keeps the order of its fields, which is the order of the columns that it makes; jsonb sorts them.
alter table spec_versions drop column document_bytes;
alter table spec_versions alter column spec_json type json using spec_json::json;
alter table spec_versions
  add column document_bytes integer not null generated always as (octet_length(spec_json::text)) stored;
comment on column spec_versions.document_bytes is 'Of spec_json as text: those of an org have a limit together.';

drop function take_lane;
create function take_lane(
  of_org text, of_run text, scheduled_at_ms bigint, clock_jump_ms_max bigint, recheck_hours_max integer, is_first boolean,
  secret_kind text
) returns table (
  before lanes, lane lanes, run runs, spec json, secrets connection_secrets, has_requeued boolean
) language plpgsql as $$
begin
  select lanes.* into before
  from runs join lanes on lanes.id = runs.lane_id
  where runs.org_id = of_org and runs.id = of_run and runs.status = 'running'
  for no key update of lanes;
  if not found then return; end if;
  -- A fence ahead of the clock of the database was made with a wrong clock and blocks no attempt.
  if before.fence > scheduled_at_ms + clock_jump_ms_max
    and before.fence <= extract(epoch from clock_timestamp()) * 1000 + clock_jump_ms_max then return; end if;
  -- A mark that has expired is taken away, so that the end of the run makes a new one.
  if before.recorded_since <= now() - make_interval(hours => recheck_hours_max) then
    before.recorded_with := null;
    before.recorded_since := null;
  end if;
  if is_first then
    select runs.* into run from runs where runs.org_id = of_org and runs.id = of_run and runs.status = 'running';
  else
    update runs set attempts = attempts + 1, progressed_at = clock_timestamp()
    where runs.org_id = of_org and runs.id = of_run and runs.status = 'running'
    returning runs.* into run;
  end if;
  if not found then return; end if;
  update lanes set fence = greatest(before.fence + 1, scheduled_at_ms),
    recorded_with = before.recorded_with, recorded_since = before.recorded_since
  where lanes.id = before.id
  returning lanes.* into lane;
  has_requeued := exists (
    select from quarantine
    where quarantine.org_id = of_org and quarantine.connection_id = run.connection_id
      and quarantine.resource_key = run.resource_key and requeued_at is not null);
  select spec_versions.spec_json into spec
  from connections join spec_versions on spec_versions.spec_id = connections.spec_id
  where connections.id = run.connection_id and spec_versions.version = run.spec_version;
  select connection_secrets.* into secrets
  from connection_secrets
  where connection_secrets.org_id = of_org and connection_secrets.connection_id = run.connection_id
    and connection_secrets.kind = secret_kind;
  return next;
end $$;
comment on function take_lane is 'Takes the lane of a run for an attempt (takeLane); no row: the run does not run, or a later attempt holds the lane.';
