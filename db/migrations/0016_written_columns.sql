-- Which columns of a table a lane has ever filled. Beside `lanes`, whose rows every attempt writes anew.
create table written_columns (
  org_id text not null,
  lane_id bigint,
  target text not null,
  names text[] not null,
  primary key (lane_id, target),
  foreign key (org_id, lane_id) references lanes (org_id, id) on delete cascade
);
comment on table written_columns is 'The columns that batches of a lane have ever filled: they become null where a record gives no value. No row: nothing was noted yet.';
comment on column written_columns.target is 'Names the table and its database: those of another one are not its columns.';
