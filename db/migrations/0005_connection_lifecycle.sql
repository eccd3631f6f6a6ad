alter table connections add column deleted_at timestamptz;
comment on column connections.deleted_at is 'Deleted: it reads as absent from here on; the sweeper removes what belongs to it, then this row.';
create index connections_deleted on connections (deleted_at) where deleted_at is not null;

alter table lanes add column reset text check (reset in ('watermark', 'state'));
comment on column lanes.reset is 'What the next run forgets before it reads, because the spec now reads otherwise: the watermark, or every known record as well (state). Null: nothing.';
