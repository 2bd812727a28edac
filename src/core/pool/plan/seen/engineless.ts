// Machines of which instance types have turned out to take no containers (containers.md#engines)?
import type { PoolConfig } from "../../../../schema/pool.ts";
import { SECOND_PROTOCOL } from "../../../../shared/compat.ts";
import { ownValue } from "../../../own-value.ts";
import type { ReadonlyRows } from "../../../rows.ts";
import { isOtherProvider, isSameType } from "../../config-diff.ts";
import { isOpenTo, keepsMachinesApart } from "../../projects.ts";
import type { PoolRecord, WorkerRow } from "../../record.ts";
import type { ReadonlyConfigured } from "../../state.ts";
import type { EngineState } from "../packing.ts";
import { typeNamed } from "../types.ts";
import { isLikeNew } from "./like-new.ts";

/**
 * Notes that a machine has no engine that Drover can use, or that a machine of its type has one after all.
 * The note outlives the machine; otherwise machines would be created in vain, one after the other. A machine
 * says it once, and nothing while others of its type have an engine.
 */
export function learnEngine(
  record: PoolRecord,
  before: WorkerRow,
  after: WorkerRow,
  workers: ReadonlyRows<WorkerRow>,
): PoolRecord {
  const { config } = record;
  const { instanceType, noEngine, phase } = after;
  if (phase !== "ready") return record;
  if (before.readyAt !== null && before.noEngine?.why === noEngine?.why) return record;
  if (!isLikeNew(config, after, instanceType)) return record;
  const known = ownValue(record.engineless, instanceType);
  if (hasEngine(after)) return known === undefined ? record : without(record, instanceType);
  if (noEngine?.lasts !== true || showsEngine({ config, workers }, instanceType)) return record;
  const why = cut(noEngine.why);
  return known === why ? record : { ...record, engineless: { ...record.engineless, [instanceType]: why } };
}

/** Whether a ready machine shows that such machines of the type have an engine. */
export function showsEngine(
  { config, workers }: { config: PoolConfig; workers: ReadonlyRows<WorkerRow> },
  type: string,
): boolean {
  return workers.derive(withEngine).some((row) => isLikeNew(config, row, type));
}

function withEngine(rows: readonly WorkerRow[]): WorkerRow[] {
  return rows.filter((row) => row.phase === "ready" && hasEngine(row));
}

/** Whether the host has said that its engine is usable. An older one says nothing of engines. */
function hasEngine({ noEngine, protocol }: WorkerRow): boolean {
  return noEngine === undefined && protocol >= SECOND_PROTOCOL;
}

/** The engine of a worker, as far as it is known: a machine that boots is like those of its type. */
export function engineOf(
  { engineless }: Pick<PoolRecord, "engineless">,
  { phase, noEngine, instanceType }: WorkerRow,
): EngineState {
  if (noEngine !== undefined) return noEngine.lasts ? "none" : "down";
  return phase === "ready" || ownValue(engineless, instanceType) === undefined ? "usable" : "none";
}

/** How many reasons a text names: a pool may have thousands of workers. */
const MAX_SHOWN = 3;
/** How much is kept and shown of what a host says. */
const MAX_WHY_CHARS = 200;

/**
 * Why machines of the pool that are open to a project take no containers. Where projects have machines of
 * their own, the words of a host are for its own project alone.
 */
export function enginelessText(
  { record, workers }: Pick<ReadonlyConfigured, "record" | "workers">,
  project: string,
): string {
  const { config, engineless = {} } = record;
  const isApart = keepsMachinesApart(config);
  const ofTypes = Object.entries(engineless).map(
    ([type, why]) => `machines of type ${type}: ${isApart ? "they have shown no engine" : cut(why)}`,
  );
  const isToldByType = ({ instanceType, why }: { instanceType: string; why: string }) =>
    !isApart && ownValue(engineless, instanceType) === why;
  const ofWorkers = workers
    .derive(enginelessWorkers)
    .filter((row) => isOpenTo(config, project, row) && !isToldByType(row))
    .map(({ worker, why }) => `worker ${worker}: ${why}`);
  const reasons = [...ofTypes, ...ofWorkers];
  const more = reasons.length - MAX_SHOWN;
  return [...reasons.slice(0, MAX_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function enginelessWorkers(rows: readonly WorkerRow[]) {
  return rows.flatMap(({ worker, phase, project, instanceType, noEngine }) =>
    phase === "ready" && noEngine !== undefined
      ? [{ worker, project, instanceType, why: cut(noEngine.why) }]
      : [],
  );
}

function cut(why: string): string {
  return why.slice(0, MAX_WHY_CHARS);
}

/** The notes that remain valid under a new configuration: those of types that have not changed. */
export function enginelessAfterConfigure(
  record: PoolRecord,
  config: PoolConfig,
): Pick<PoolRecord, "engineless"> {
  const before = record.config;
  if (isOtherProvider(before.provider, config.provider) || before.image !== config.image) return {};
  const same = Object.entries(record.engineless ?? {}).filter(([name]) =>
    isSameType(typeNamed(before, name), typeNamed(config, name)),
  );
  return same.length === 0 ? {} : { engineless: Object.fromEntries(same) };
}

function without({ engineless = {}, ...record }: PoolRecord, type: string): PoolRecord {
  const { [type]: _, ...others } = engineless;
  return Object.keys(others).length === 0 ? record : { ...record, engineless: others };
}
