// Could a self-hosted machine hold a run, whatever is on it now?
import type { PoolConfig } from "../../../../schema/pool.ts";
import { accommodates, remaining } from "../../../resources.ts";
import { isOpenTo } from "../../projects.ts";
import { capacityOfRow, type RunRow, type WorkerRow } from "../../record.ts";
import type { ReadonlyConfigured } from "../../state.ts";
import { suits } from "../asks.ts";

/**
 * Whether a self-hosted machine that is open to the run's project could hold the run when empty. Then no
 * instance type needs to hold the run. GPUs that cannot be used now may come back (devices.md#capacity).
 */
export function fitsSelfHosted(
  { workers }: Pick<ReadonlyConfigured, "workers">,
  config: PoolConfig,
  { project, resources, asks }: Pick<RunRow, "project" | "resources" | "asks">,
): boolean {
  return workers.derive(selfHostedRooms).some(({ row, gpus, room }) => {
    const isSuited = suits(asks, { type: row.type, zone: null, isProvided: false, gpus });
    return isSuited && accommodates(room, resources) && isOpenTo(config, project, row);
  });
}

function selfHostedRooms(workers: readonly WorkerRow[]) {
  const own = workers.filter((row) => row.kind === "self-hosted");
  return own.map((row) => {
    const gpus = row.gpus?.listed ?? row.gpus;
    const has = capacityOfRow(row);
    return { row, gpus, room: remaining({ ...has, gpus: gpus?.count ?? has.gpus }, []) };
  });
}
