create table specs (
  id text primary key,
  org_id text not null references orgs (id),
  key text not null,
  created_at timestamptz not null default now(),
  unique (org_id, id),
  unique (org_id, key)
);

create table spec_versions (
  id text primary key,
  org_id text not null references orgs (id),
  spec_id text not null,
  version text not null,
  spec_json jsonb not null,
  status text not null check (status in ('draft', 'published', 'deprecated')),
  checksum text not null,
  published_at timestamptz,
  created_at timestamptz not null default now(),
  unique (org_id, spec_id, version),
  foreign key (org_id, spec_id) references specs (org_id, id)
);
comment on column spec_versions.spec_json is 'The document as given, without orgId; defaults are filled in when it is read.';
comment on column spec_versions.checksum is 'sha256: and the hex digest of the RFC 8785 canonical JSON of spec_json.';
