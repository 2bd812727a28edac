import type { RegistryState } from "../../../src/core/registry/machine.ts";
import type { RegistryRecord } from "../../../src/core/registry/pools.ts";
import { type DataKeyRow, isLiveRow, type SecretRow } from "../../../src/core/registry/secrets.ts";
import { isLiveToken, type TokenRow } from "../../../src/core/registry/tokens.ts";
import { Rows } from "../../../src/core/rows.ts";
import { MapDisk } from "./map-disk.ts";

/** A registry right after loading, with this record, no tokens, no secrets, and these wrapping keys. */
export function registryOf(record: RegistryRecord | null, keks: number[] = []): RegistryState {
  return {
    record,
    refusals: {},
    tokens: new Rows(new MapDisk<TokenRow>(), isLiveToken),
    secrets: new Rows(new MapDisk<SecretRow>(), isLiveRow),
    dataKeys: new Rows(new MapDisk<DataKeyRow>(), isLiveRow),
    keks,
  };
}
