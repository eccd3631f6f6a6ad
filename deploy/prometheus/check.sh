#!/bin/sh
# Checks the alert rules, and runs their tests. Needs promtool, which is part of Prometheus:
#   go install github.com/prometheus/prometheus/cmd/promtool@latest
# PROMTOOL is its path, if it is not on PATH.
set -eu
cd "$(dirname "$0")"
promtool="${PROMTOOL:-promtool}"
"$promtool" check rules alerts.yaml
"$promtool" test rules alerts.test.yaml
