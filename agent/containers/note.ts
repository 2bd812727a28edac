// How far had the start of a container come when the agent died (containers.md#survives)?
import { appendFileSync } from "node:fs";
import { isThere } from "../../posix/files.ts";
import type { ProcId } from "../../posix/proc.ts";
import type { AttemptDirs } from "../exec/processes/dirs.ts";

/** The input is being passed on. */
export const FEEDING = "feeding\n";
/** All of the input was passed on. */
export const FED = "fed\n";
/** The engine is being asked to start the container. */
export const STARTING = "starting\n";

/** The first words of the note, from before the container is made. More words are only appended. */
export function noteOf(socket: string): string {
  return `${socket}\n`;
}

/** The first process of the container: with it a kill needs no engine. */
export function mainLine({ pid, startTime }: ProcId): string {
  return `main ${pid} ${startTime}\n`;
}

/** Adds words to the note of an attempt, unless the attempt has gone. Throws the system's error. */
export function appendNote({ root, container }: Pick<AttemptDirs, "root" | "container">, text: string): void {
  if (isThere(root)) appendFileSync(container, text);
}

/** The same, where a full disk must not matter: the next start of the agent knows less. */
export function tryAppendNote(dirs: Pick<AttemptDirs, "root" | "container">, text: string): void {
  try {
    appendNote(dirs, text);
  } catch {
    // What is not noted is not taken for done.
  }
}

/** What a note says. */
export interface Way {
  socket?: string;
  isStarting: boolean;
  /** The container may not have got all of its input. */
  isHungry: boolean;
  /** Undefined: nobody has seen it. */
  main: ProcId | undefined;
}

/** Reads a note, of which an agent that has died may have written the half of a line. */
export function wayOf(note: string): Way {
  const [socket, ...words] = note.split("\n");
  const [, pid, startTime] = /^main (\d+) (\d+)\n/m.exec(note) ?? [];
  const has = (word: string) => words.includes(word.trimEnd());
  return {
    ...(socket === undefined ? {} : { socket }),
    isStarting: has(STARTING),
    isHungry: has(FEEDING) && !has(FED),
    main: pid === undefined ? undefined : { pid: Number(pid), startTime: Number(startTime) },
  };
}
