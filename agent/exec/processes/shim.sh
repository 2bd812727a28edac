#!/bin/sh
# Runs "$@" and writes its status as the last line of the file that is its own stderr. POSIX `sh` only; it needs
# no agent: the shim leads a session of its own, and waits for its task.
#
# - The traps keep the shim alive when its task signals its whole group (`kill 0`). A caught signal, unlike an
#   ignored one, has its default action in the task, and the shell acts on it only after its wait.
# - The task's stderr is descriptor 3, so the file gets only the shell's own messages about the end.
# - `exec` replaces the subshell, and no shell reads its arguments. The trap runs only if `exec` fails; `$$` is
#   the shim's pid there, too. (The trap cannot use descriptor 2: a redirection of `exec` stays in effect even
#   if `exec` fails.)
# - A line is one `write`: a reader of the file sees all of it or nothing, so no rename is needed.
# - The first line identifies the shim before its task begins, so that a later start of the agent finds it even
#   if this agent dies just then. The shim then checks that "$1" is still the file it has written to. An agent
#   that retracts the start does the two steps in the other order: it moves the folder away, and then reads that
#   line (`AttemptStore.retract`). So the two cannot both go on.
# - A shim that cannot write that line, because the disk is full, does not begin: nobody could find it again. If
#   the disk fills up later, the status may not fit into the file; so the shim also exits with it, for an agent
#   that waits.
# - A shell that cannot fork ends at once, which only its last trap notices. Without the message from that trap,
#   the status would look like the task's.
# - Variables of the shim could overwrite those in the task's environment, so there is only one, with an odd name.
# - The agent's files are private, and Node has raised its limit of open files: the task gets the umask and the
#   limit in the next two arguments instead. A limit above the hard one is ignored.
# - The arguments before `--` are files of cgroups. Only the task enters them: the shim must outlive a kill of
#   the cgroup.
#
# shellcheck disable=SC3013,SC3045 # not in POSIX, but in dash, bash and busybox
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM
read -r __drover_shim <"/proc/$$/stat" && echo "$__drover_shim" >&2 || exit 123
[ "/proc/$$/fd/2" -ef "$1" ] || exit
shift
trap '{ echo unforked; echo 125; } >&2; exit 125' EXIT
( trap 'echo unstarted >>"/proc/$$/fd/2"' EXIT
umask "$1"
ulimit -S -n "$2" 2>/dev/null
shift 2
while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done
shift
exec "$@" 2>&3 3>&- )
__drover_shim=$?
trap - EXIT
echo "$__drover_shim" >&2
exit "$__drover_shim"
