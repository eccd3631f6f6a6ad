-- A refusal that ends within this time is no reason to stop a connection.
alter table connections add column error_after_minutes integer not null default 0 check (error_after_minutes between 0 and 10080);
comment on column connections.error_after_minutes is 'How long the runs of a resource may be refused before the connection is in error; 0: the first refusal is enough.';
