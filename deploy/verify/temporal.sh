#!/bin/sh
# Runs deploy/temporal as compose.yaml does: tables, server and namespace, with a real server over a real PostgreSQL, twice.
#   usage: temporal.sh <folder with temporal-sql-tool, temporal-server and temporal> <sources of the server> <scratch folder>
set -eu

PATH="$1:$PATH"
schemas="$2/schema/postgresql/v12"
work="$3"
postgres='' server=''
# shellcheck disable=SC2329 # Called by the trap.
stop() {
  for pid in $server $postgres; do
    kill "$pid" 2>/dev/null && wait "$pid" || true
  done
}
trap stop EXIT
trap 'exit 130' INT TERM

node scripts/run.mjs deploy/verify/scratch-postgres.ts >"$work/postgres-url" 2>"$work/postgres-log" &
postgres=$!
until [ -s "$work/postgres-url" ]; do
  kill -0 "$postgres"
  sleep 0.2
done
eval "$(node -e 'const { username, password, hostname, port } = new URL(process.argv[1]);
  console.log(`SQL_USER=${username} SQL_PASSWORD=${password} SQL_HOST=${hostname} SQL_PORT=${port}`)' "$(cat "$work/postgres-url")")"
export SQL_USER SQL_PASSWORD SQL_HOST SQL_PORT SQL_PLUGIN=postgres12 SCHEMAS="$schemas"
sh deploy/temporal/schema.sh
sh deploy/temporal/schema.sh

# Ports that neither a Temporal of this machine nor its dev server has.
export FRONTEND_GRPC_PORT=27233 FRONTEND_MEMBERSHIP_PORT=26933 FRONTEND_HTTP_PORT=27243 MATCHING_GRPC_PORT=27235 \
  MATCHING_MEMBERSHIP_PORT=26935 HISTORY_GRPC_PORT=27234 HISTORY_MEMBERSHIP_PORT=26934 WORKER_GRPC_PORT=27239 \
  WORKER_MEMBERSHIP_PORT=26939 BIND_ON_IP=0.0.0.0
export DB=postgres12 POSTGRES_SEEDS="$SQL_HOST" DB_PORT="$SQL_PORT" POSTGRES_USER="$SQL_USER" POSTGRES_PWD="$SQL_PASSWORD" \
  NUM_HISTORY_SHARDS=512 LOG_LEVEL=warn DYNAMIC_CONFIG_FILE_PATH="$PWD/deploy/temporal/dynamic-config.yaml"
# By the entry point of its image, which finds the address that others of a cluster would call.
bash "$2/docker/scripts/sh/entrypoint.sh" >"$work/temporal-log" 2>&1 &
server=$!
export TEMPORAL_ADDRESS=127.0.0.1:$FRONTEND_GRPC_PORT TEMPORAL_NAMESPACE=default
if ! timeout 120 sh deploy/temporal/namespace.sh || ! timeout 120 sh deploy/temporal/namespace.sh; then
  tail -n 20 "$work/temporal-log"
  exit 1
fi
temporal operator namespace describe --namespace default | grep --ignore-case retention
# A key that the server does not know would be a warning.
! grep -E 'unregistered key|dynamic ?config.*(error|fail)' "$work/temporal-log"
