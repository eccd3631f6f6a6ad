-- Whose data a connection reads, for those who may not open its tokens.
alter table connections add column accounts jsonb not null default '[]';
comment on column connections.accounts is 'The accounts at the provider whose grants are stored, as far as the provider tells; nothing secret.';
