// How far is a pull, by the lines that the engine writes about it?
import { fieldOf, numberOf, textOf } from "./answers/read.ts";

/** How far a pull is. */
export interface PullProgress {
  /** Layers that the engine has named. */
  layers: number;
  /** Layers whose bytes have all come: the engine may still unpack them. */
  layersDone: number;
  /** Bytes that have come, of the layers whose size is known. */
  bytesDone: number;
  bytesTotal: number;
  /** Grows with each line that shows a movement: while it stands, the pull stands still. */
  movements: number;
  /** What the engine said last, for a text about it. */
  last: string;
}

/** One layer. */
interface Layer {
  /** Whether all its bytes have come. */
  came: boolean;
  bytes: number;
  total: number;
  status: string;
}

/** What the lines so far have said. */
export interface PullState {
  readonly layers: ReadonlyMap<string, Layer>;
  readonly movements: number;
  readonly last: string;
  /** Why the pull has failed; undefined: it has not. */
  readonly error: string | undefined;
}

/** Before the first line. */
export const UNPULLED: PullState = { layers: new Map(), movements: 0, last: "", error: undefined };

/** Words for a layer whose bytes have all come. Podman says nothing after the first. */
const CAME = /^(?:Download complete|Verifying Checksum|Extracting|Already exists|Pull complete)/;

/** Words that are no movement, however often they change. */
const STILL = /^(?:Waiting|Retrying)/;

/** The longest text kept of a line. */
const MAX_LAST_CHARS = 300;

/** The state after one more line (engine.md#pull-progress). */
export function foldPull(state: PullState, line: unknown): PullState {
  const error = textOf(line, "errorDetail", "message") || textOf(line, "error");
  if (error !== "") return { ...state, error, last: error };
  const id = textOf(line, "id");
  const status = textOf(line, "status").trim();
  const text = textOf(line, "stream").trim();
  const last = [id, status, text].filter(Boolean).join(": ").slice(0, MAX_LAST_CHARS) || state.last;
  if (id === "" || !isLayer(status)) {
    const moved = last !== state.last;
    return { ...state, last, movements: state.movements + (moved ? 1 : 0) };
  }
  const before = state.layers.get(id) ?? { came: false, bytes: 0, total: 0, status: "" };
  const after = layerAfter(before, status, line);
  const moved = !STILL.test(status) && (after.status !== before.status || after.bytes !== before.bytes);
  return {
    layers: new Map(state.layers).set(id, after),
    movements: state.movements + (moved ? 1 : 0),
    last,
    error: state.error,
  };
}

/** What is shown of a state. */
export function progressOf(state: PullState): PullProgress {
  const layers = [...state.layers.values()];
  const sum = (of: (layer: Layer) => number) => layers.reduce((total, layer) => total + of(layer), 0);
  return {
    layers: layers.length,
    layersDone: layers.filter(({ came }) => came).length,
    bytesDone: sum(({ bytes }) => bytes),
    bytesTotal: sum(({ total }) => total),
    movements: state.movements,
    last: state.last,
  };
}

/**
 * Whether the engine may be unpacking, of which podman says nothing: all layers that it has named have come.
 */
export function mayUnpack({ layers }: PullState): boolean {
  return layers.size > 0 && [...layers.values()].every(({ came }) => came);
}

/** How far a pull is, in words: `2 of 5 layers, 3.1 of 9.4 MB`. */
export function progressText({ layers, layersDone, bytesDone, bytesTotal }: PullProgress): string {
  if (layers === 0) return "no layer yet";
  const parts = `${layersDone} of ${layers} ${layers === 1 ? "layer" : "layers"}`;
  return bytesTotal === 0 ? parts : `${parts}, ${megabytes(bytesDone)} of ${megabytes(bytesTotal)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** Docker's first line names the tag where others name the layer; its last ones name none. */
function isLayer(status: string): boolean {
  return !status.startsWith("Pulling from");
}

/** Extracting counts the same bytes once more: they have all come by then. */
function layerAfter(before: Layer, status: string, line: unknown): Layer {
  const detail = fieldOf(line, "progressDetail");
  const current = numberOf(detail, "current");
  const total = Math.max(before.total, numberOf(detail, "total"));
  const came = before.came || CAME.test(status);
  const bytes = came ? total : Math.max(before.bytes, Math.min(current, total || current));
  const step = status.startsWith("Extracting") ? `${status} ${current}` : status;
  return { came, bytes, total, status: step };
}
