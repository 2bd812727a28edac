#!/bin/sh
# Runs "$@" and writes its status as the last line of the file that is the shim's stderr. POSIX `sh` only. The
# shim leads its own session, and waits for its task even without the agent. This file has the shim's
# functions. A shim of one command calls them once (`spawnShim`), and one with `serve.sh` again and again.
#
# - The traps keep the shim alive when its task signals its whole group (`kill 0`). A caught signal, unlike an
#   ignored one, has its default action in the task, and the shell acts on it only after its wait.
# - The task's stderr is descriptor 3, so the file gets only the shell's own messages about the end.
# - `exec` replaces the subshell with the task, so no shell interprets the task's arguments. The subshell's
#   trap runs only if `exec` fails; `$$` is the shim's pid there, too. (The trap cannot use descriptor 2: a
#   redirection of `exec` stays in effect even if `exec` fails.)
# - Each line is one `write`: a reader of the file sees the whole line or nothing, so no rename is needed.
# - The first line identifies the shim before its task begins, so that a later start of the agent finds it
#   even if this agent dies just then. The shim then checks that "$1" is still the file it has written to. An
#   agent that retracts the start does the two steps in the other order: it moves the folder away, and then
#   reads that line (`AttemptStore.retract`). So the shim and the agent cannot both go on.
# - A shim that cannot write that line, because the disk is full, does not start its task: no agent could find
#   it again. If the disk fills up later, the status may not fit into the file, so the shim also returns the
#   status, for an agent that waits.
# - A shell that cannot fork ends at once, and only its EXIT trap runs, when the redirections of a function
#   have gone. Without the message from that trap, the status would look like the task's.
# - Variables of the shim could overwrite those in the task's environment, so there are few, with odd names.
# - The agent may have a strict umask, and Node has raised the agent's limit of open files. The task gets the
#   umask and the limit in the next two arguments instead. A limit above the hard limit is ignored.
# - The next arguments, up to `--`, are the `cgroup.procs` files of cgroups. Only the task enters these
#   cgroups: the shim must outlive a kill of the cgroup.
#
# shellcheck disable=SC3013,SC3045 # not in POSIX, but in dash, bash and busybox
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM
__drover_is_owned() { :; }
__drover_enter() { :; }
__drover_run() {
read -r __drover_shim <"/proc/$$/stat" || return 123
__drover_is_owned || return 122
echo "$__drover_shim" >&2 || return 123
[ "/proc/$$/fd/2" -ef "$1" ] || return 122
__drover_exit=$1
shift
trap '{ echo unforked; echo 125; } >>"$__drover_exit"; exit 125' EXIT
( trap 'echo unstarted >>"/proc/$$/fd/2"' EXIT
umask "$1"
ulimit -S -n "$2" 2>/dev/null
shift 2
while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done
shift
__drover_enter || exit 124
exec "$@" 2>&3 3>&- 4>&- )
__drover_shim=$?
trap - EXIT
echo "$__drover_shim" >&2
return "$__drover_shim"
}
