// Does a configuration keep the rules that the server applies when a pool is put?
import { Name } from "../../src/schema/common.ts";
import { PutPoolConfig } from "../../src/schema/pool.ts";
import { poolNameFault } from "../../src/shared/cloud/names.ts";
import { type Finding, missing, ok } from "./finding.ts";

/** A configuration that keeps the rules, or what is wrong with it: the path of each field, and why. */
export type Ruled = { config: PutPoolConfig } | { faults: { path: string; message: string }[] };

/** Reads a configuration as the server would (clouds.md#names). */
export function ruled(name: string, content: unknown): Ruled {
  const { data, error } = PutPoolConfig.safeParse(content);
  if (data === undefined) {
    return {
      faults: error.issues.map(({ path, message }) => ({ path: `/${path.join("/")}`, message })),
    };
  }
  const fault = nameFault(data.provider.kind, name);
  return fault === null ? { config: data } : { faults: [{ path: "/name", message: fault }] };
}

/** Why a pool of this kind of provider cannot have this name. Null: it can. */
export function nameFault(kind: PutPoolConfig["provider"]["kind"], name: string): string | null {
  const { error } = Name.safeParse(name);
  return error === undefined ? poolNameFault(kind, name) : (error.issues[0]?.message ?? "is no name");
}

/** What the rules find. */
export function ruleFindings(read: Ruled): Finding[] {
  if ("config" in read) {
    return [ok("configuration", "its fields, name and tags keep the rules of the server")];
  }
  return read.faults.map(({ path, message }) =>
    missing("configuration", `${path}: ${message}`, "Change that field: docs/machines.md says what it takes"),
  );
}
