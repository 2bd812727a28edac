#!/bin/sh
# Writes an archive of "$1", under its last name, to standard output. The directory is a parameter expansion
# away, since a command substitution would lose line feeds at the end of a name.
case $1 in */*) dir=${1%/*}/ ;; *) dir=./ ;; esac
name=${1##*/}
if [ ! -e "$1" ] && [ ! -L "$1" ]; then
  echo "there is no $1" >&2
  exit 3
fi
case $(readlink -f -- "$1") in
/proc | /proc/* | /sys | /sys/* | /dev | /dev/*)
  echo "$1 is made by the kernel: it has no files to copy. Use drover exec and cat." >&2
  exit 3
  ;;
esac
exec tar -C "$dir" -czf - -- "./$name"
