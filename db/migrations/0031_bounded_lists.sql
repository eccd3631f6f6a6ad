-- Lists are read in their order, however long they are.
create index spec_versions_by_spec on spec_versions (org_id, spec_id desc, id desc);
