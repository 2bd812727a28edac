// What do a client and a host say to each other through a tunnel (tunnels.md#frames)?
import type { SIGNALS } from "../signals.ts";

/** How far the bytes of a channel have arrived, and have been used. */
export interface Progress {
  received: number;
  used: number;
}

/** What a tunnel leads to: a command, or a port of the machine. */
export const TUNNEL_KINDS = ["exec", "forward"] as const;
export type TunnelKind = (typeof TUNNEL_KINDS)[number];

/** The size of a terminal, in characters. */
export interface TerminalSize {
  rows: number;
  columns: number;
}

/** A command to run beside the main process of a task. */
export interface ExecAsk {
  kind: "exec";
  argv: string[];
  /** The command gets a terminal, whose kind is `term` (the variable TERM). Absent: pipes. */
  terminal?: TerminalSize & { term: string };
  /** The client sends input. Always so with a terminal. */
  input: boolean;
}

/** TCP connections to a port of the machine. Each channel is one connection. */
export interface ForwardAsk {
  kind: "forward";
  port: number;
}

export type TunnelAsk = ExecAsk | ForwardAsk;

/** Why a tunnel ended before its command did, or never led anywhere. */
export const TUNNEL_FAULTS = ["invalid_request", "not_running", "busy", "start_failed", "lost"] as const;
export type TunnelFault = (typeof TUNNEL_FAULTS)[number];

/**
 * A frame of either side. Offsets (`at`) count the bytes of one channel in one direction, so that a frame
 * that arrives twice changes nothing, and one that was lost is sent again.
 */
export type TunnelFrame =
  /** The first frame of a side on each connection. `channels`: how far each channel has been heard. */
  | { t: "hello"; channels: Record<string, Progress>; ask?: TunnelAsk }
  | { t: "data"; c: number; at: number; d: string }
  /** Nothing follows on this channel after byte `at`. */
  | { t: "end"; c: number; at: number }
  | { t: "ack"; c: number; at: number }
  /** A channel is over at once, in both directions. Repeated on each connection until it is confirmed. */
  | { t: "reset"; c: number; done?: true }
  | ({ t: "size" } & TerminalSize)
  /** Signal number `n`, which is sent once however often the frame arrives. */
  | { t: "signal"; n: number; signal: (typeof SIGNALS)[number] }
  /** The client is still there. Any other frame says so, too. */
  | { t: "here" }
  /** The client is done. */
  | { t: "close" }
  /** The command has ended, and all of its output was sent. Repeated on each connection. */
  | { t: "exit"; code: number | null; signal: string | null }
  | { t: "fault"; code: TunnelFault; text: string };

/** What the worker's object, which only passes frames on, tells a client: whether the host is connected. */
export type RelayFrame = { t: "host"; connected: boolean };

/** The largest frame of a client, in characters. */
export const MAX_TUNNEL_FRAME_CHARS = 256 * 1024;
/** The most bytes in one `data` frame. */
export const DATA_BYTES = 48 * 1024;
/** How many bytes a side sends on one channel before the other side confirms them. */
export const WINDOW_BYTES = 256 * 1024;
/** The most connections of one `forward` at once. */
export const MAX_CHANNELS = 64;

const MAX_ARGV_BYTES = 64 * 1024;
const MAX_CELLS = 1_000;
const MAX_PORT = 65_535;

/** Reads a frame; undefined unless the text is an object with a type. Its fields are not checked. */
export function frameIn<Frame extends { t: string }>(text: string): Frame | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    if (typeof frame !== "object" || frame === null || !("t" in frame)) return undefined;
    return frame as Frame; // each field is checked where it is used
  } catch {
    return undefined;
  }
}

/** What is wrong with a request for a tunnel, as a sentence; undefined: nothing. */
export function faultOfAsk(ask: TunnelAsk): string | undefined {
  if (ask.kind === "forward") {
    const isPort = Number.isInteger(ask.port) && ask.port >= 1 && ask.port <= MAX_PORT;
    return isPort ? undefined : `A port is a number from 1 to ${MAX_PORT}, and not ${ask.port}.`;
  }
  const { argv, terminal } = ask;
  if (!Array.isArray(argv) || argv.length === 0 || argv[0] === "") return "There is no command to run.";
  if (argv.some((word) => typeof word !== "string" || word.includes("\0"))) {
    return "An argument of a command cannot have a zero byte.";
  }
  if (argv.reduce((sum, word) => sum + word.length, 0) > MAX_ARGV_BYTES) {
    return `The command has more than ${MAX_ARGV_BYTES / 1024} KiB of arguments. Send them as input instead.`;
  }
  return terminal === undefined ? undefined : faultOfSize(terminal);
}

/** What is wrong with the size of a terminal, as a sentence; undefined: nothing. */
export function faultOfSize({ rows, columns }: TerminalSize): string | undefined {
  const isSize = (cells: number) => Number.isInteger(cells) && cells >= 1 && cells <= MAX_CELLS;
  if (isSize(rows) && isSize(columns)) return undefined;
  return `A terminal has 1 to ${MAX_CELLS} rows and columns, and not ${rows} rows of ${columns} columns.`;
}
