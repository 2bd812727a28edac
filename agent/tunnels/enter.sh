#!/bin/sh
# Runs "$@" with the environment in the file "$2" and, unless it is empty, the pipe "$1" as its standard input.
# What follows may change the user: only then is the environment taken, which the run may have chosen. Until
# then nothing here depends on it. A process of its own holds the pipe open, so that the input does not end
# with an agent that dies: the agent ends that process when the input has ended.
#
# shellcheck disable=SC2016 # the inner shell expands its own words
if [ -n "$1" ]; then
  # In this order: once that process exists, this one has the pipe open.
  exec <"$1"
  # It is no child of the command, which may wait for all of its children.
  (DROVER_TUNNEL_HOLDER=1 setsid sleep 2147483647 >"$1" 2>/dev/null </dev/null &)
fi
exec 7<"$2"
shift 2
exec "$@"
