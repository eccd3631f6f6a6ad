#!/bin/sh
# Makes the two databases of Temporal and their tables, or brings them to the version of this image. Reads SQL_*.
set -eu

schemas="${SCHEMAS:-/etc/temporal/schema/postgresql/v12}"
set_up() {
  export SQL_DATABASE="$1"
  temporal-sql-tool create-database
  temporal-sql-tool setup-schema --version 0.0
  temporal-sql-tool update-schema --schema-dir "$schemas/$2/versioned"
}
set_up temporal temporal
set_up temporal_visibility visibility
