-- Lists are read in their order, however long they are. Keys that are over do not stay for ever.
create index spec_versions_by_spec on spec_versions (org_id, spec_id desc, id desc);
create index api_keys_over on api_keys (least(revoked_at, expires_at)) where least(revoked_at, expires_at) is not null;
create index api_keys_by_maker on api_keys (created_by_key_id) where created_by_key_id is not null;
