#!/bin/sh
# Runs "$@" with the pipe "$1" as its standard input. A process of its own holds the pipe open, so that the
# input does not end with an agent that dies: the agent ends that process when the input has ended.
#
# shellcheck disable=SC2016 # the inner shell expands its own words
# In this order: once that process exists, this one has the pipe open.
exec <"$1"
# It is no child of the command, which may wait for all of its children.
(DROVER_TUNNEL_HOLDER=1 setsid sleep 2147483647 >"$1" 2>/dev/null </dev/null &)
shift
exec "$@"
