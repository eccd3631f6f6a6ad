#!/bin/sh
# Makes the namespace unless it exists. Reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.
set -eu

until temporal operator cluster health; do sleep 1; done
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 && exit 0
# Workflows that ended are kept that long; the control database keeps runs for ever.
temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 7d
