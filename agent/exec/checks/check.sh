#!/bin/sh
# Runs the command of a check, with the environment from its own standard input. The umask and the limit of
# open files come first, then up to `--` the `cgroup.procs` files of the cgroups that it enters.
#
# - The status of the command goes to descriptor 2, so that it is known while a child of the command lives on.
# - Its output goes through a pipe: what the agent has is a socket, which a command cannot open as /dev/stdout.
# - Nothing is written to a disk. The output of a command whose agent has died leads nowhere.
#
# shellcheck disable=SC3045 # not in POSIX, but in dash, bash and busybox
exec 7<&0 </dev/null 3>&2 2>/dev/null
{
  (
    umask "$1"
    ulimit -S -n "$2" 2>/dev/null
    shift 2
    while [ "$1" != -- ]; do echo 0 >"$1" || exit 126; shift; done
    shift
    exec "$@"
  ) 2>&1 3>&-
  echo "$?" >&3
} | cat 3>&- 7<&-
