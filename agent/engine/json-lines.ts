// Which JSON values are in a stream of lines that comes in pieces?
import { EngineError } from "./errors.ts";

/** The longest line. Progress lines have some hundred bytes. */
const MAX_LINE_CHARS = 1_048_576;

/** Takes a stream of JSON lines apart (engine.md#pull). The last line needs no end. */
export class JsonLines {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** The values of the lines that end in this piece. Throws `EngineError` for what is no JSON. */
  push(piece: Uint8Array): unknown[] {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_CHARS) throw notLines("a line of more than 1 MiB");
    return lines.flatMap(parsed);
  }

  /** The value after the last end of a line, if there is one. */
  end(): unknown[] {
    return parsed(this.#rest + this.#decoder.decode());
  }
}

function parsed(line: string): unknown[] {
  if (line.trim() === "") return [];
  try {
    return [JSON.parse(line)];
  } catch {
    throw notLines(`the line ${JSON.stringify(line.slice(0, 200))}`);
  }
}

function notLines(what: string): EngineError {
  return new EngineError(
    "not_engine",
    `The engine should tell its progress in lines of JSON, but sent ${what}.`,
  );
}
