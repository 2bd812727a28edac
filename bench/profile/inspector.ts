// How does a program ask V8's inspector of workerd or Node for a profile of its processor?
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const OPEN_WITHIN_MS = 30_000;
const BETWEEN_TRIES_MS = 50;

/** A function on the stack, as V8 numbers it (the type `ProfileNode` of the inspector's protocol). */
export interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  children?: number[];
}

/** A profile as `.cpuprofile` files have it. Times are in microseconds. */
export interface CpuProfile {
  nodes: ProfileNode[];
  startTime: number;
  endTime: number;
  /** The node on top of the stack at each sample. */
  samples: number[];
  /** The time before each sample since the one before. */
  timeDeltas: number[];
}

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

/**
 * Profiles a program while `act` runs. `target` chooses one of its inspector's targets by the end of its id:
 * workerd's are services, Node has a single one. Rejects if the inspector does not open in time.
 */
export async function profileWhile(
  port: number,
  target: string,
  everyUs: number,
  act: () => Promise<void>,
): Promise<CpuProfile> {
  const inspector = await Inspector.open(await addressOf(port, target));
  try {
    await inspector.call("Profiler.enable");
    await inspector.call("Profiler.setSamplingInterval", { interval: everyUs });
    await inspector.call("Profiler.start");
    await act();
    const { profile } = await inspector.call<{ profile: CpuProfile }>("Profiler.stop");
    return profile;
  } finally {
    inspector.close();
  }
}

async function addressOf(port: number, target: string): Promise<string> {
  let error: unknown;
  for (const late = performance.now() + OPEN_WITHIN_MS; performance.now() < late; ) {
    try {
      // The inspector's protocol fixes these fields.
      const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Target[];
      const found = targets.find(({ id }) => id.endsWith(target));
      if (found !== undefined) return found.webSocketDebuggerUrl;
      error = new Error(`there are only the targets ${targets.map(({ id }) => id).join(", ")}`);
    } catch (thrown) {
      error = thrown;
    }
    await sleep(BETWEEN_TRIES_MS);
  }
  throw new Error(`No inspector has opened at port ${port}.`, { cause: error });
}

interface Target {
  id: string;
  webSocketDebuggerUrl: string;
}

/** A connection to an inspector, for commands that are answered once. */
class Inspector {
  #socket: WebSocket;
  #lastId = 0;
  #waiting = new Map<number, PromiseWithResolvers<unknown>>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#answered(JSON.parse(String(data))));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The inspector has hung up."));
    });
  }

  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error(`The inspector at ${url} does not answer.`)));
    });
    return new Inspector(socket);
  }

  /** Sends a command of the protocol. The caller knows the type of its result. */
  call<T>(method: string, params: object = {}): Promise<T> {
    this.#lastId += 1;
    const answered = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#lastId, answered);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return answered.promise as Promise<T>;
  }

  close(): void {
    this.#socket.close();
  }

  #answered({ id, result, error }: { id?: number; result?: unknown; error?: { message: string } }): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(`The inspector refuses: ${error.message}`));
  }
}
