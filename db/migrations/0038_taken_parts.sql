-- The receiver may have a record of a request that was split or is sent again, whatever it says of the later one.
alter table outbox_parts add column may_be_taken boolean not null default false;
comment on column outbox_parts.may_be_taken is 'An earlier request with these records was refused in part, in a form that could not be read.';
