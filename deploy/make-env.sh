#!/bin/sh
# Writes the .env that deploy/compose.yaml reads, with passwords and keys that nobody else has. An existing one is kept:
# the keys in it decrypt what is stored.   usage: sh deploy/make-env.sh [file]
set -eu
umask 077

file="${1:-$(dirname "$0")/.env}"
if [ -e "$file" ]; then
  echo "$file exists already and is left as it is. Delete it only together with the data it encrypts." >&2
  exit 1
fi
key() { printf 'k1:%s' "$(head -c 32 /dev/urandom | base64 | tr -d '\n')"; }
password() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }

cat >"$file" <<TEXT
# Made by deploy/make-env.sh. Keep a copy of the three keys apart from the backups of the databases.
POSTGRES_PASSWORD=$(password)
TEMPORAL_POSTGRES_PASSWORD=$(password)
SECRETS_KEYS=$(key)
OAUTH_STATE_KEYS=$(key)
EMBED_KEYS=$(key)
# Whoever knows it reads what Temporal stores, of every org. Without it Temporal's pages show that encrypted.
TEMPORAL_CODEC_TOKEN=$(password)
# The address under which callers reach the API.
PUBLIC_URL=http://localhost:3100
TEXT
echo "wrote $file"
