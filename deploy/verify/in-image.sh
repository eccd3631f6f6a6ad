#!/bin/sh
# Runs a command in an unpacked image as a hardened container does: user 10001 without capabilities, nothing can be written
# but /tmp. The command replaces this shell. Needs root.   usage: in-image.sh <root of the image> <command> [argument…]
set -eu

root="$1"
shift
# shellcheck disable=SC2016 # Expanded by the inner shell.
exec unshare --mount --propagation private sh -euc '
  root="$1"
  shift
  mount --bind "$root" "$root"
  mount --options remount,bind,ro "$root"
  mount --types tmpfs --options size=64m,mode=1777 tmp "$root/tmp"
  mount --rbind /proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec chroot "$root" setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env --chdir=/app "$@"
' sh "$root" "$@"
