#!/bin/sh
# Step of deploy/Dockerfile, as the user of the image: the bundle of the workflows, and the compiled modules of each process.
# A process starts without its database and Temporal and waits for them, which is enough: it has loaded every module.
set -eu

export NODE_ENV=production MALLOC_ARENA_MAX=1
node deploy/image/build-bundle.ts

# Addresses that nobody has, and keys that sign nothing.
export HOME=/nonexistent PORT=31990 WORKER_HEALTH_PORT=31991
export DATABASE_URL=postgres://nobody@127.0.0.1:1/none TEMPORAL_ADDRESS=127.0.0.1:1 HOST=127.0.0.1 LOG_LEVEL=error
SECRETS_KEYS="build:$(head -c 32 /dev/urandom | base64)"
export SECRETS_KEYS
for process in api-server worker; do
  node --max-semi-space-size=24 "src/$process.ts" &
  pid=$!
  until node deploy/image/health.mjs; do
    kill -0 "$pid"
    sleep 0.2
  done
  kill -TERM "$pid"
  wait "$pid"
done
node --max-semi-space-size=24 src/migrate.ts >/dev/null 2>&1 || true
node --max-semi-space-size=24 src/admin.ts --help >/dev/null
