import type { Json } from "../../edge/support/edge.ts";
import type { Server } from "../../edge/support/server.ts";
import { until } from "../../local/support/scratch.ts";
import { allRuns, type World } from "./world.ts";

const AT_ONCE = 8;
/** Of the runs that never end so many are shown. */
const MAX_SHOWN = 10;

/**
 * What is wrong with the stored runs: one that was answered with 201 and does not exist, one that exists
 * without such an answer, one on which its pool and its allocation disagree, one that never ends.
 */
export async function faultsOfStorage(server: Server, world: World): Promise<string[]> {
  await world.close();
  const listed = new Map<string, Json>();
  for (const run of await allRuns(server)) listed.set(run.id, run);
  const alive = () => allRuns(server, "&state=pending&state=running");
  await until(
    "nothing runs any more",
    async () => (await alive()).length === 0,
    async () => (await alive()).slice(0, MAX_SHOWN),
  );
  const lost = [...world.runs]
    .filter((id) => !listed.has(id))
    .map((id) => `${id} was stored, and is not there`);
  const odd = [...listed.keys()].filter((id) => !world.runs.has(id)).map((id) => `nobody was told of ${id}`);
  const open = [...listed.values()];
  const faults: string[] = [];
  const work = async () => {
    for (let run = open.pop(); run !== undefined; run = open.pop()) {
      const whole = await server.json(200, "GET", `/v1/runs/${run.id}`);
      const [now] = (await server.json(200, "GET", `/v1/runs?id=${run.id}`)).items;
      for (const field of ["state", "pool", "exitCode"]) {
        if (whole[field] !== now?.[field])
          faults.push(`${run.id}: ${whole[field]} is ${now?.[field]} for its pool`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [...lost, ...odd, ...faults];
}
