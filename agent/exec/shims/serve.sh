#!/bin/sh
# Behind `shim.sh`: a shim that runs one command after the other, and reads each from its standard input. There
# `__drover_agent` is the pid of the agent, `__drover_dir` the directory of the command, and `__drover_export`
# sets its environment.
#
# - This shim opens the files of a command by their names. After the death of its agent they may be those of a
#   second start of the same attempt, so it begins a command only as the child of the agent that has asked for
#   it. What was opened while that agent lived is in a folder that a later agent moves away first.
# - Descriptor 4 leads to the agent. The main process tells its pid there before it becomes the command, so the
#   agent need not look for it.
# - Without the agent a write to it fails, and would end the subshell, whose traps are those of the command.
# - `cd` leaves a variable that the command should not get.
#
# shellcheck disable=SC2154 # the input sets them
umask 077
exec 4>&1
__drover_is_owned() {
case $__drover_shim in *") "?" $__drover_agent "*) ;; *) return 1 ;; esac
}
__drover_enter() {
trap '' PIPE
read -r __drover_main </proc/self/stat
echo "begun $__drover_main" 2>/dev/null >&4
trap - PIPE
cd -P "$__drover_dir" && unset OLDPWD && __drover_export
}
