-- What is left of deleted endpoints and retired secrets is found without reading every row of the queue and the log.
create index webhook_endpoint_secrets_expiring on webhook_endpoint_secrets (expires_at) where expires_at is not null;
create index webhook_endpoints_deleted on webhook_endpoints (deleted_at) where deleted_at is not null;
create index webhook_messages_of_endpoint on webhook_messages (endpoint_id);
create index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id);
create index webhook_recoveries_of_endpoint on webhook_recoveries (endpoint_id);
comment on column webhook_endpoints.deleted_at is 'Deleted: it reads as absent from here on; it goes when the log of its deliveries has gone.';
