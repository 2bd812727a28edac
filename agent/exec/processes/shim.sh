#!/bin/sh
# Runs "$@" and leaves its status as the last line of the file that is its own stderr. POSIX `sh`, nothing
# else, and no agent needed: it lives in a session of its own and waits on.
#
# - The traps keep it alive when its task signals its whole group (`kill 0`). Caught, and not ignored,
#   signals are back to normal in the task, and the shell acts on them only after its wait.
# - The task's stderr is descriptor 3: so nothing but what the shell itself says of the end stands in that
#   file.
# - `exec` replaces the subshell, and its arguments are read by no shell. Only if it fails does the trap
#   run; `$$` is the shim's pid there too. (A redirection of `exec` stays when it fails, hence not just
#   descriptor 2.)
# - One `write` of one line: whoever reads the file sees all of the line or nothing, so no rename is
#   needed.
# - The first line says which process the shim is, before its task begins: so a later start of the agent
#   finds it, however soon this one dies. Then it looks whether "$1" still is the file that it has written
#   to: an agent that takes the folder away and then looks for that line (`AttemptStore.retract`), and a
#   shim that does the two things the other way round, cannot both go on.
# - Who cannot write its name does not begin: nobody could find it again. The disk is full then. If it fills
#   up later the status may find no room in the file; so the shim exits with it, for the agent that waits.
# - A shell that cannot fork ends at once, which only its last trap sees: without a word of it that would be
#   an exit of the task.
# - A variable that the task's environment has would reach it changed: hence one odd name, and no other.
# - The agent's own files are private, and Node has raised its limit of open files: the task has the umask
#   and the limit that come next instead. A limit that is above the hard one stays as it is.
# - The files before `--` are those of cgroups. Only the task enters them: the shim must outlive their kill.
#
# shellcheck disable=SC3013,SC3045 # not of POSIX, but in dash, bash and busybox
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
