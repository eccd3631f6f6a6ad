-- What an org may have or do at once, where it differs from the defaults of src/core/org-limits.ts.
alter table orgs add column limits jsonb not null default '{}';
comment on column orgs.limits is 'Overrides by the operator: name of a limit to a whole number. Names are those of src/core/org-limits.ts.';
