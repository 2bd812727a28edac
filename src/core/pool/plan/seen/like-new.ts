// Does a machine say anything about those that would be made now?
import type { PoolConfig } from "../../../../schema/pool.ts";
import { isSameMachine } from "../../config-diff.ts";
import type { WorkerRow } from "../../record.ts";
import { typeNamed } from "../types.ts";

/** Whether a machine is as one of this type that is made now: type and image have not changed since. */
export function isLikeNew(config: PoolConfig, row: WorkerRow, type: string): boolean {
  if (row.kind === "self-hosted" || row.instanceType !== type) return false;
  if (row.image !== undefined && row.image !== config.image) return false;
  return isSameMachine(typeNamed(config, type), row.type);
}
