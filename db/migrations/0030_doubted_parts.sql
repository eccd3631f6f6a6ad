alter table outbox_parts add column is_doubted boolean not null default false;
comment on column outbox_parts.is_doubted is 'The receiver refused some of it in a form that could not be read.';
