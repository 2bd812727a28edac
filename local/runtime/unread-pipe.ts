import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

/** Shows each process that this program starts by that name, once it has its pipes. */
export function onChildOf(program: string, act: (child: ChildProcess) => void): void {
  subscribe("child_process", (message) => {
    // Node's documentation of this channel says so, and its types say nothing.
    const { process: child } = message as { process: ChildProcess };
    // At this moment it has neither a name nor pipes, and it cannot have died before the next.
    process.nextTick(() => {
      if (child.spawnfile === program) act(child);
    });
  });
}

/**
 * Whoever waits until a process of this program has read all of its standard input is told when it will not.
 *
 * Miniflare hands workerd its configuration there, and waits for `finish` or an error. If workerd dies
 * before it has read all of that, Node hears of the broken pipe first, or of the death. After the death it
 * closes the pipe and says neither, and Miniflare would wait for ever, its own end included. So a pipe that
 * closes with something unread has an error, always.
 */
export function failUnreadInput(program: string): void {
  onChildOf(program, failUnread);
}

function failUnread({ stdin: pipe }: ChildProcess): void {
  pipe?.once("close", () => {
    const isAwaited = pipe.listenerCount("error") > 0;
    if (isAwaited && !pipe.writableFinished) {
      pipe.emit("error", new Error("It ended before it had read its input."));
    }
  });
}
