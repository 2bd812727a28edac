// What can be asked of the output of a run, and what is answered?
import type { ArrivalsPage } from "../../core/allocation/output/arrivals.ts";
import type { StreamName } from "../../schema/host.ts";

export type { LogLine } from "../../schema/run/lines.ts";

/** A part of one stream of one attempt. */
export interface LogChunk {
  data: Uint8Array;
  /** Instead of `data`: the bytes from `from` on are in the object store. */
  object?: LogObject;
  /** Offset of the first byte of `data`. */
  from: number;
  /** The last part of the attempt's id; absent while the task has no attempt. */
  attempt?: string;
  /** Bytes stored so far. */
  size: number;
  /** No bytes will follow after `size`. */
  ended: boolean;
  /** How many bytes beyond the limit were dropped. */
  dropped: number;
}

/** Bytes in one object of the store: `length` of them from `offset` on. */
export interface LogObject {
  key: string;
  offset: number;
  length: number;
}

export interface LogRequest {
  task: string;
  stream: StreamName;
  /** The last part of the attempt's id. Absent: the latest attempt. */
  attempt?: string;
  /** Without `attempt`: reads the oldest attempt that is kept, instead of the latest. */
  oldest?: boolean;
  /** The first byte to read. Negative: counted from the present end. */
  from: number;
  maxBytes: number;
  /** How long to wait for bytes at `from` if there are none. */
  waitMs: number;
}

/** Asks for the order in which the bytes of both streams arrived. */
export interface ArrivalsRequest {
  task: string;
  /** The last part of the attempt's id. Absent: the latest attempt. */
  attempt?: string | undefined;
  /** Without `attempt`: reads the oldest attempt that is kept, instead of the latest. */
  oldest?: boolean;
  streams: readonly StreamName[];
  /** The first byte of each stream. */
  from: Record<StreamName, number>;
  /** Only bytes that arrived then or later, and those without a time. */
  since?: number | undefined;
  /** How long to wait for bytes if there are none. */
  waitMs: number;
}

/** The order in which bytes arrived, as far as they are stored. */
export interface Arrivals extends ArrivalsPage {
  /** The last part of the attempt's id; null while the task has no attempt. */
  attempt: string | null;
  /** No bytes will follow after `stored`. */
  ended: boolean;
  /** Bytes of each stream that are stored so far. */
  stored: Record<StreamName, number>;
}

/** Asks for the number of the line at an offset, or where the line with a number begins. */
export type LineRequest = {
  task: string;
  stream: StreamName;
  /** The last part of the attempt's id. Absent: the latest attempt. */
  attempt?: string | undefined;
} & ({ offset: number } | { line: number });
