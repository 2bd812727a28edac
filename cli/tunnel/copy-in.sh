#!/bin/sh
# Puts the archive on standard input to "$1", or into it if that is a directory. "$2": the only name in the
# archive. Nothing is at its place before all of it has arrived.
if [ -d "$1" ]; then
  dir=$1
  to=$1/$2
else
  case $1 in */*) dir=${1%/*}/ ;; *) dir=./ ;; esac
  to=$1
fi
if [ ! -d "$dir" ]; then
  echo "there is no directory $dir" >&2
  exit 3
fi
part=$(mktemp -d "$dir/.drover-cp-XXXXXX") || exit 3
trap 'rm -rf "$part"' EXIT
trap 'exit 3' HUP INT TERM
tar -C "$part" -xzof - || exit 3
if [ -d "$to" ] && [ -d "$part/$2" ]; then
  cp -a "$part/$2/." "$to/"
else
  mv -f -- "$part/$2" "$to"
fi
