// What if workerd dies before it has read its configuration?
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

/** Calls `act` with each child process that runs this program, once it has its pipes. */
export function onChildOf(program: string, act: (child: ChildProcess) => void): void {
  subscribe("child_process", (message) => {
    // The documentation of this channel promises this type; the type declarations do not.
    const { process: child } = message as { process: ChildProcess };
    // The child has neither a name nor pipes yet, and it cannot die before the next tick.
    process.nextTick(() => {
      if (child.spawnfile === program) act(child);
    });
  });
}

/**
 * Emits an error on the standard input of each child that runs this program, if the child dies before it has
 * read all of its input.
 *
 * Miniflare writes its configuration to workerd's standard input, and waits for `finish` or `error`. If
 * workerd dies first, Node may notice its death before the broken pipe. It then closes the pipe without
 * either event, and Miniflare would wait forever, even in `dispose`.
 */
export function failUnreadInput(program: string): void {
  onChildOf(program, failUnread);
}

function failUnread({ stdin: pipe }: ChildProcess): void {
  pipe?.once("close", () => {
    const isAwaited = pipe.listenerCount("error") > 0;
    if (isAwaited && !pipe.writableFinished) {
      pipe.emit("error", new Error("The process ended before it had read its input."));
    }
  });
}
