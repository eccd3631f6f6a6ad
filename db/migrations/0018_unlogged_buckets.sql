-- Token buckets need not survive a crash of the server: unlogged, a request costs it no write to the disk.
alter table buckets set unlogged;
