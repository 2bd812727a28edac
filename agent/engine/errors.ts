// What can go wrong between the agent and a container engine?

/**
 * `unreachable`: nobody answers at the socket. `denied`: the agent may not open the socket. `not_engine`:
 * what answers is no container engine. `version`: there is no common version of the API. `not_found`,
 * `conflict`, `refused` and `server`: the engine's answers 404, 409, other 4xx and 5xx. `cut`: the connection
 * ended in the middle. `timeout`: no answer came in time. `aborted`: the caller's signal. `image`: a pull
 * failed.
 */
export type EngineErrorKind =
  | "unreachable"
  | "denied"
  | "not_engine"
  | "version"
  | "not_found"
  | "conflict"
  | "refused"
  | "server"
  | "cut"
  | "timeout"
  | "aborted"
  | "image";

/** What the engine did not do (engine.md#errors). The text says what was asked, and what the answer was. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly kind: EngineErrorKind;
  /** Of the engine's answer; undefined: there was none. */
  readonly status: number | undefined;
  /** What the engine itself said; empty: nothing. */
  readonly said: string;

  constructor(
    kind: EngineErrorKind,
    text: string,
    more: { status?: number | undefined; said?: string } = {},
  ) {
    super(text);
    this.kind = kind;
    this.status = more.status;
    this.said = more.said ?? "";
  }
}

/** Whether the engine has answered, with an error. */
export function isAnswer(error: unknown): error is EngineError {
  return error instanceof EngineError && error.status !== undefined;
}
