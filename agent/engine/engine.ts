// What can the agent ask of a container engine?
import type { Duplex } from "node:stream";
import { archivedFile } from "./answers/archived-file.ts";
import { containerFacts, listedContainer } from "./answers/container-facts.ts";
import { engineFacts } from "./answers/engine-facts.ts";
import { hasGoneMeanwhile, isHalfRemoved, PODMAN_LIST, podmanRows } from "./answers/half-removed.ts";
import { imageFacts, listedImage } from "./answers/image-facts.ts";
import { fieldOf, isTrue, listOf, numberOf, textOf } from "./answers/read.ts";
import { EngineError, isAnswer } from "./errors.ts";
import { hijack } from "./hijack.ts";
import { framesOf, outputOf } from "./output.ts";
import { type PullOptions, pull } from "./pull.ts";
import { type Ask, ask, askJson, askNothing, inPath, piecesOf, query } from "./transport.ts";
import type {
  ContainerBody,
  ContainerFacts,
  EngineFacts,
  ExecBody,
  ExecFacts,
  Frame,
  ImageFacts,
  ListedContainer,
  ListedImage,
} from "./types.ts";
import { commonApi } from "./version.ts";

/** How long the engine may take for what costs it nothing. */
const QUICK_MS = 30_000;

/** How long it may take to make, start or remove a container on a busy disk. */
const SLOW_MS = 180_000;
/** The most of a file that is read. */
const MAX_FILE_BYTES = 1024 * 1024;

/** How long it may take to read all that a container has written, as fast as the reader wants it. */
const LOGS_MS = 900_000;

export interface LogOptions {
  /** Whether to go on until the container ends. */
  follow: boolean;
  /** Whether the container has a terminal: then all is stdout, and there are no frames. */
  tty?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** Containers with all these labels, or the one with this id or name. */
interface Which {
  label?: string[];
  idOrName?: string;
}

/** A process that runs beside a container's main process. */
export interface ExecStream {
  /** What is written reaches its stdin. `end()` closes that and nothing else; it is not to be read. */
  input: Duplex;
  /**
   * What it writes; with a tty all is `stdout`. The end is that of the connection: `inspectExec` says whether
   * the process has ended. Rejects with `cut` if the connection ended in the middle of a frame.
   */
  output: AsyncIterable<Frame>;
  /** Ends the connection. The process may go on. */
  close(): void;
}

/**
 * Asks one container engine by its unix socket (engine.md#client). Each method rejects with `EngineError`.
 */
export class Engine {
  readonly socketPath: string;
  #facts: Promise<EngineFacts> | undefined;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /**
   * Agrees on a version of the API, and asks what engine this is (engine.md#open). Later calls answer the
   * same until the engine was not reached once: it may come back as another one.
   */
  open(signal?: AbortSignal): Promise<EngineFacts> {
    this.#facts ??= this.#introduce().catch((error) => {
      this.#facts = undefined;
      throw error;
    });
    // Others may wait for the same answer: the signal of one ends its own wait only.
    return signal === undefined ? this.#facts : unlessAborted(this.#facts, signal);
  }

  /** As `open`, and asks once more: the engine may have been set up in another way. */
  openAgain(): Promise<EngineFacts> {
    this.#facts = undefined;
    return this.open();
  }

  /** Resolves if the engine answers. */
  ping(): Promise<void> {
    const path = "/_ping";
    return this.#watched(
      askNothing(this.socketPath, { what: "answer", method: "GET", path, timeoutMs: QUICK_MS }),
    );
  }

  /**
   * Makes a container. Resolves with its id. Rejects with `conflict` if there is a container of this name
   * afterwards, whatever the engine said (engine.md#names): it may be the one that was asked for.
   */
  async createContainer(name: string, body: ContainerBody): Promise<string> {
    const what = `make the container ${name}`;
    const path = `/containers/create?${query({ name })}`;
    try {
      const answer = await this.#json({ what, method: "POST", path, body, timeoutMs: SLOW_MS });
      return idIn(what, answer);
    } catch (error) {
      const unsaid = error instanceof EngineError && error.kind === "server";
      if (!unsaid || (await this.inspectContainer(name)) === undefined) throw error;
      const { status, said, message } = error;
      throw new EngineError("conflict", message, { status, said });
    }
  }

  /** The text of a file of a container, running or not; undefined: there is no such regular file. */
  async readFile(id: string, file: string): Promise<string | undefined> {
    const path = `/containers/${encodeURIComponent(id)}/archive?${query({ path: file })}`;
    const one: Ask = { what: `read ${file} of ${id}`, method: "GET", path, timeoutMs: QUICK_MS };
    try {
      const { response, versioned } = await this.#ask(one);
      const pieces: Buffer[] = [];
      for await (const piece of piecesOf(versioned, response)) {
        pieces.push(piece);
        if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_FILE_BYTES) break;
      }
      return archivedFile(Buffer.concat(pieces));
    } catch (error) {
      if (error instanceof EngineError && error.kind === "not_found") return undefined;
      throw error;
    }
  }

  /** Starts a container. One that runs is fine; one that has ended is started again (engine.md#start). */
  startContainer(id: string): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}/start`;
    return this.#nothing({ what: `start the container ${id}`, method: "POST", path, timeoutMs: SLOW_MS });
  }

  /**
   * Waits until a container does not run. Resolves with its exit code; with what the engine makes up if it
   * never ran (0 on Docker, -1 or 0 on podman): `inspectContainer` says so (engine.md#wait).
   */
  async waitContainer(id: string, signal?: AbortSignal): Promise<number> {
    const what = `wait for the container ${id}`;
    const path = `/containers/${encodeURIComponent(id)}/wait?condition=not-running`;
    const answer = await this.#json({ what, method: "POST", path, signal, timeoutMs: undefined });
    const code = fieldOf(answer, "StatusCode");
    const said = textOf(answer, "Error", "Message");
    if (said !== "")
      throw new EngineError("server", `The container engine could not ${what}: ${said}`, { said });
    if (typeof code === "number") return code;
    throw new EngineError("cut", `The container engine stopped to ${what}, without saying how it ended.`);
  }

  /**
   * What a container has written from its beginning. With `follow` it ends when the container ends, or when
   * the engine is stopped: `inspectContainer` tells the two apart (engine.md#logs).
   */
  async *logs(id: string, { follow, tty = false, signal }: LogOptions): AsyncGenerator<Frame> {
    const wanted = query({ stdout: "1", stderr: "1", follow: follow ? "1" : "0" });
    const path = `/containers/${encodeURIComponent(id)}/logs?${wanted}`;
    const timeoutMs = follow ? undefined : LOGS_MS;
    const one: Ask = { what: `read the output of ${id}`, method: "GET", path, signal, timeoutMs };
    const { response, versioned } = await this.#ask(one);
    yield* framesOf(one.what, piecesOf(versioned, response), tty);
  }

  /** What the engine says of a container, by its id or name; undefined: there is none. */
  inspectContainer(idOrName: string): Promise<ContainerFacts | undefined> {
    return this.#settled({ idOrName }, () => this.#container(idOrName));
  }

  /** All containers with these labels, also those that do not run. */
  async listContainers(labels: Readonly<Record<string, string>>): Promise<ListedContainer[]> {
    const label = Object.entries(labels).map(([name, value]) => (value === "" ? name : `${name}=${value}`));
    const path = `/containers/json?${query({ all: "1", filters: JSON.stringify({ label }) })}`;
    const one: Ask = { what: "list the containers", method: "GET", path, timeoutMs: QUICK_MS };
    return listOf(await this.#settled({ label }, () => this.#json(one))).map(listedContainer);
  }

  /** Signals the main process of a container. One that does not run, or is gone, is fine (engine.md#kill). */
  async killContainer(id: string, signal: string): Promise<void> {
    const what = `send ${signal} to the container ${id}`;
    const path = `/containers/${encodeURIComponent(id)}/kill?${query({ signal })}`;
    try {
      await this.#nothing({ what, method: "POST", path, timeoutMs: QUICK_MS });
    } catch (error) {
      // Engines say "it does not run" with different statuses and texts.
      if (!isAnswer(error) || (await this.inspectContainer(id))?.state.running === true) throw error;
    }
  }

  /** Removes a container with its volumes, also one that runs. One that is gone, or just goes, is fine. */
  async removeContainer(id: string): Promise<void> {
    try {
      await this.#remove(`remove the container ${id}`, id);
    } catch (error) {
      if (!isAnswer(error)) throw error;
      const left = await this.inspectContainer(id);
      if (left !== undefined && left.state.status !== "removing") throw error;
    }
  }

  /**
   * A connection to the stdin of a container, also before its start (engine.md#hijack). `end()` ends that
   * stdin if the container was made with `StdinOnce`. What podman sends back of the output is thrown away.
   */
  async attachStdin(id: string): Promise<Duplex> {
    const path = `/containers/${encodeURIComponent(id)}/attach?${query({ stream: "1", stdin: "1" })}`;
    const what = `reach the input of the container ${id}`;
    return (await this.#hijack({ what, method: "POST", path })).resume();
  }

  /** Prepares a process beside the main one. Resolves with the id of the exec. */
  async createExec(id: string, body: ExecBody): Promise<string> {
    const what = `prepare a process in the container ${id}`;
    const path = `/containers/${encodeURIComponent(id)}/exec`;
    const asked = { AttachStdin: true, AttachStdout: true, AttachStderr: true, ...body };
    return idIn(what, await this.#json({ what, method: "POST", path, body: asked, timeoutMs: SLOW_MS }));
  }

  /** Starts what `createExec` prepared; `tty` as there. */
  async startExec(execId: string, { tty }: { tty: boolean }): Promise<ExecStream> {
    const path = `/exec/${encodeURIComponent(execId)}/start`;
    const what = `start the process ${execId}`;
    const input = await this.#hijack({ what, method: "POST", path, body: { Detach: false, Tty: tty } });
    return { input, output: outputOf(what, input, tty), close: () => input.destroy() };
  }

  /** Sets the size of the terminal of an exec. */
  resizeExec(execId: string, rows: number, columns: number): Promise<void> {
    const size = query({ h: String(rows), w: String(columns) });
    const path = `/exec/${encodeURIComponent(execId)}/resize?${size}`;
    const what = `set the size of the terminal of ${execId}`;
    return this.#nothing({ what, method: "POST", path, timeoutMs: QUICK_MS });
  }

  /** What the engine says of an exec; undefined: there is none, as after the end of its container. */
  inspectExec(execId: string): Promise<ExecFacts | undefined> {
    const path = `/exec/${encodeURIComponent(execId)}/json`;
    return this.#found({ what: `look at the process ${execId}`, path }, (answer) => {
      const running = isTrue(answer, "Running");
      const exitCode = fieldOf(answer, "ExitCode");
      const ended = !running && typeof exitCode === "number";
      return { running, exitCode: ended ? exitCode : undefined, pid: numberOf(answer, "Pid") };
    });
  }

  /** What the engine says of an image that it has, by its name or id; undefined: it has none. */
  inspectImage(reference: string): Promise<ImageFacts | undefined> {
    const path = `/images/${inPath(reference)}/json`;
    return this.#found({ what: `look at the image ${reference}`, path }, imageFacts);
  }

  /**
   * Pulls an image. Rejects with `PullError` if the registry or the disk is why it failed (engine.md#pull).
   */
  async pullImage(reference: string, options: PullOptions = {}): Promise<void> {
    const { api } = await this.open(options.signal);
    await this.#watched(pull(this.socketPath, `/v${api}`, reference, options));
  }

  /** All images that the engine has. */
  async listImages(): Promise<ListedImage[]> {
    const answer = await this.#json({
      what: "list the images",
      method: "GET",
      path: "/images/json",
      timeoutMs: QUICK_MS,
    });
    return listOf(answer).map(listedImage);
  }

  /**
   * Removes an image by its name or id. One that is gone is fine. Rejects with `conflict` if it is in use.
   */
  async removeImage(reference: string): Promise<void> {
    const what = `remove the image ${reference}`;
    const path = `/images/${inPath(reference)}`;
    try {
      await this.#nothing({ what, method: "DELETE", path, timeoutMs: SLOW_MS });
    } catch (error) {
      if (!(error instanceof EngineError && error.kind === "not_found")) throw error;
    }
  }

  async #introduce(): Promise<EngineFacts> {
    const quick = { method: "GET", timeoutMs: QUICK_MS } as const;
    const version = await askJson(this.socketPath, { ...quick, what: "say what it is", path: "/version" });
    const range = { least: textOf(version, "MinAPIVersion"), newest: textOf(version, "ApiVersion") };
    const common = commonApi(range);
    if ("reason" in common) throw new EngineError("version", common.reason);
    const path = `/v${common.api}/info`;
    const info = await askJson(this.socketPath, { ...quick, what: "say how it is set up", path });
    return engineFacts(version, info, common.api);
  }

  /** Puts the agreed version before the path. */
  async #versioned<T extends { path: string }>(one: T): Promise<T> {
    const { api } = await this.open();
    return { ...one, path: `/v${api}${one.path}` };
  }

  async #ask(one: Ask) {
    const versioned = await this.#versioned(one);
    return { versioned, response: await this.#watched(ask(this.socketPath, versioned)) };
  }

  async #json(one: Ask): Promise<unknown> {
    return this.#watched(askJson(this.socketPath, await this.#versioned(one)));
  }

  async #nothing(one: Ask): Promise<void> {
    return this.#watched(askNothing(this.socketPath, await this.#versioned(one)));
  }

  async #hijack(one: Omit<Ask, "timeoutMs">): Promise<Duplex> {
    return this.#watched(hijack(this.socketPath, await this.#versioned(one)));
  }

  async #found<T>(one: { what: string; path: string }, read: (answer: unknown) => T): Promise<T | undefined> {
    try {
      return read(await this.#json({ ...one, method: "GET", timeoutMs: QUICK_MS }));
    } catch (error) {
      if (error instanceof EngineError && (error.kind === "not_found" || hasGoneMeanwhile(error)))
        return undefined;
      throw error;
    }
  }

  /** The answer, once no container is in its way any more that podman has removed by half. */
  async #settled<T>(which: Which, look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (error) {
      if (!isHalfRemoved(error) || !(await this.#finishRemovals(which))) throw error;
      return look();
    }
  }

  /** Removes what podman has removed by half (engine.md#half-removed). False: there is nothing. */
  async #finishRemovals({ label, idOrName }: Which): Promise<boolean> {
    const path = `${PODMAN_LIST}?${query({ all: "true", filters: JSON.stringify({ label }) })}`;
    const list: Ask = { what: "list the containers", method: "GET", path, timeoutMs: QUICK_MS };
    let isAny = false;
    for (const { id, names, isRunning } of podmanRows(await askJson(this.socketPath, list))) {
      const isMeant = idOrName === undefined || idOrName === id || names.includes(idOrName);
      if (!isMeant || isRunning) continue;
      if (!(await this.#container(id).then(() => false, isHalfRemoved))) continue;
      isAny = true;
      const removal = this.#remove(`finish the removal of the container ${id}`, id);
      await removal.catch((refusal) => !isAnswer(refusal) && Promise.reject(refusal));
    }
    return isAny;
  }

  #container(idOrName: string): Promise<ContainerFacts | undefined> {
    const path = `/containers/${encodeURIComponent(idOrName)}/json`;
    return this.#found({ what: `look at the container ${idOrName}`, path }, containerFacts);
  }

  #remove(what: string, id: string): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}?${query({ force: "1", v: "1" })}`;
    return this.#nothing({ what, method: "DELETE", path, timeoutMs: SLOW_MS });
  }

  /** Forgets what engine it is if it may have been replaced. */
  async #watched<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!isAnswer(error) || error.kind === "refused") this.#facts = undefined;
      throw error;
    }
  }
}

/** The answer, or `aborted` if the signal comes first. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const text = "The container engine was asked what it is, until it was told to stop.";
    const abort = () => reject(new EngineError("aborted", text));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The id of what was made. */
function idIn(what: string, answer: unknown): string {
  const id = textOf(answer, "Id");
  if (id !== "") return id;
  throw new EngineError("not_engine", `The container engine could not ${what}: its answer has no id.`);
}
