// May a container see these directories of this machine (containers.md#binds)?
import { realpathSync } from "node:fs";
import { normalize } from "node:path";
import { isThere } from "../../posix/files.ts";
import type { Container } from "../../src/schema/run/container.ts";
import { StartFault } from "./start-fault.ts";

/** What of the machine a container is to see, and what it must not see. */
export interface Seen {
  binds: Container["binds"];
  /** The directories that it sees under their own names. */
  shared: readonly string[];
  /** The engine's socket: whoever has it has the machine. */
  socket: string;
}

/**
 * Throws a `StartFault` for a bind whose source is not there, which some engines would make; for one that a
 * link leads elsewhere, as a pool allows paths by their names; and for a directory with the engine's socket.
 */
export function checkBinds({ binds = [], shared, socket }: Seen): void {
  for (const { source, target } of binds) {
    if (!isThere(source)) {
      const text = `This machine has no ${source}, which the container is to see as ${target}.`;
      throw refusal(`${text} Create it, or leave it out of \`container.binds\`.`);
    }
    checkSocket(source, socket);
    const real = realpathSync(source);
    if (real !== plain(source) && !isSame(source, socket)) {
      const text = `${source}, which the container is to see as ${target}, is ${real}: a link leads there.`;
      throw refusal(`${text} Name ${real} in \`container.binds\`; the pool must allow it.`);
    }
  }
  for (const path of shared) if (isThere(path)) checkSocket(path, socket);
}

/** The socket can be mounted by its own name alone, which a pool must allow (containers.md#allowed). */
function checkSocket(source: string, socket: string): void {
  if (!isThere(socket) || plain(source) === plain(socket)) return;
  const [real, realSocket] = [realpathSync(source), realpathSync(socket)];
  if (plain(source) === realSocket) return;
  if (real !== realSocket && !realSocket.startsWith(real === "/" ? real : `${real}/`)) return;
  const text = `${source} leads a container to the engine's socket, and so to the whole machine.`;
  throw refusal(`${text} Mount something else, or ${socket} itself, in a pool that allows it.`);
}

function isSame(one: string, other: string): boolean {
  return isThere(other) && realpathSync(one) === realpathSync(other);
}

/** A path without doubled slashes, `.` and a slash at its end. */
function plain(path: string): string {
  return normalize(path).replace(/(?<=.)\/$/, "");
}

function refusal(text: string): StartFault {
  return new StartFault("start_failed", text);
}
