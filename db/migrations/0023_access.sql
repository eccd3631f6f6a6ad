-- A run that signs in with what was right when it began puts no connection in error that was mended meanwhile.
alter table connections add column access_no integer not null default 0;
comment on column connections.access_no is 'Grows when what runs sign in with is renewed: params, secrets, a grant, an activation.';
alter table runs add column access_no integer;
comment on column runs.access_no is 'connections.access_no as the run knows it; null: it began before there was one.';
