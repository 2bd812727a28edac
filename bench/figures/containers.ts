// What does Drover add to a warm start of a container whose image is there (budgets.md#containers)?
import { rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { BUSYBOX } from "../../test/agent/support/busybox.ts";
import { startDrover, warmUp } from "../drover.ts";
import { type Row, rowOf } from "../table.ts";

const CONTAINED = { argv: ["true"], container: { image: BUSYBOX, network: "host" }, resources: { vcpus: 1 } };

/** When a request came to the engine, and when its answer began. */
interface Passed {
  what: string;
  askedAt: number;
  answeredAt: number;
}

/**
 * Starts containers one after the other with an engine of its own. Resolves with a hint in place of rows if
 * the machine has none. Drover's share is the time from the submission to the engine's answer that the
 * container runs, without the time in which the engine made and started it.
 */
export async function measureContainers(runs: number): Promise<Row[] | string> {
  // What this needs is said on stderr as well, if it is looked at in vain.
  const { hasPodman, missingForPodman, startPodman } = await import("../../test/agent/support/podman.ts");
  if (!hasPodman) return `containers were not measured: they need ${missingForPodman}`;
  // The engine's service keeps no process alive, and its end is waited for.
  const alive = setInterval(() => undefined, 60_000);
  const podman = await startPodman();
  const passed: Passed[] = [];
  const socket = join(podman.dir, "watched.sock");
  const server = await watch(podman.socketPath, socket, passed);
  const drover = await startDrover({ env: { DROVER_ENGINE: socket } });
  try {
    await warmUp(drover);
    const [whole, engine, own] = [[] as number[], [] as number[], [] as number[]];
    for (let n = 0; n <= runs; n += 1) {
      passed.length = 0;
      const submittedAt = performance.now();
      const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", CONTAINED);
      await drover.call("GET", `/v1/runs/${id}?wait=20s&state=done`);
      const [create, start] = ["/containers/create", "/start"].map((what) => stepOf(passed, what));
      // The first one warms up what the others find.
      if (n === 0 || create === undefined || start === undefined) continue;
      const tookMs = start.answeredAt - submittedAt;
      const engineMs = create.answeredAt - create.askedAt + start.answeredAt - start.askedAt;
      whole.push(tookMs);
      engine.push(engineMs);
      own.push(tookMs - engineMs);
    }
    return [
      rowOf("container, its image is there: submit → started", "ms", whole),
      rowOf("container: the engine makes and starts it", "ms", engine),
      rowOf("container: Drover's own share of its start", "ms", own, "p50 < 30 ms"),
    ];
  } finally {
    await drover.stop();
    server.close();
    rmSync(socket, { force: true });
    await podman.stop();
    clearInterval(alive);
  }
}

function stepOf(passed: readonly Passed[], what: string): Passed | undefined {
  return passed.find((one) => one.what.startsWith("POST ") && one.what.includes(what));
}

/** Passes connections on, and notes what is asked for on each: the agent asks once on each. */
function watch(engine: string, socket: string, passed: Passed[]): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: engine, allowHalfOpen: true });
    client.once("data", (head: Buffer) => {
      const [what = ""] = head.toString("latin1").split("?");
      const one = { what: what.split(" HTTP/")[0] ?? "", askedAt: performance.now(), answeredAt: 0 };
      upstream.once("data", () => {
        passed.push({ ...one, answeredAt: performance.now() });
      });
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on("error", () => to.destroy());
    }
  });
  return new Promise((resolve) => server.listen(socket, () => resolve(server)));
}
