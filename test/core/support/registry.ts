import type { RegistryState } from "../../../src/core/registry/machine.ts";
import type { RegistryRecord } from "../../../src/core/registry/pools.ts";
import { isLiveToken, type TokenRow } from "../../../src/core/registry/tokens.ts";
import { Rows } from "../../../src/core/rows.ts";
import { auditTable } from "./audit.ts";
import { MapDisk } from "./map-disk.ts";

/** A registry right after loading, with this record and no tokens. */
export function registryOf(record: RegistryRecord | null): RegistryState {
  const tokens = new Rows(new MapDisk<TokenRow>(), isLiveToken);
  return { record, refusals: {}, tokens, audit: auditTable() };
}
