import type { Json } from "../../edge/support/edge.ts";
import type { Server } from "../../edge/support/server.ts";
import { until } from "../../local/support/scratch.ts";
import type { World } from "./world.ts";

const AT_ONCE = 8;

/**
 * What is wrong with the stored runs: one that was answered with 201 and does not exist, one that exists
 * without such an answer, one on which its pool and its allocation disagree, one that never ends.
 */
export async function faultsOfStorage(server: Server, world: World): Promise<string[]> {
  await world.close();
  const listed = new Map<string, Json>();
  for (const run of await allRuns(server, "")) listed.set(run.id, run);
  await until("nothing runs any more", async () => {
    return (await allRuns(server, "&state=pending&state=running")).length === 0 || undefined;
  });
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

async function allRuns(server: Server, more: string): Promise<Json[]> {
  const runs: Json[] = [];
  let cursor = "";
  do {
    const { items, next } = await server.json(200, "GET", `/v1/runs?limit=1000${more}${cursor}`);
    runs.push(...items);
    cursor = next === null ? "" : `&cursor=${next}`;
  } while (cursor !== "");
  return runs;
}
