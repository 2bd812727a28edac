import type { RegistryState } from "../../../src/core/registry/machine.ts";
import type { RegistryRecord } from "../../../src/core/registry/pools.ts";
import type { SessionRow } from "../../../src/core/registry/sessions.ts";
import { isLiveToken, type TokenRow } from "../../../src/core/registry/tokens.ts";
import type { WebhookRow } from "../../../src/core/registry/webhooks.ts";
import { Rows } from "../../../src/core/rows.ts";
import { auditTable } from "./audit.ts";
import { MapDisk } from "./map-disk.ts";

/** A registry right after loading, with this record, no tokens and no sessions. */
export function registryOf(record: RegistryRecord | null): RegistryState {
  return {
    record,
    refusals: {},
    tokens: new Rows(new MapDisk<TokenRow>(), isLiveToken),
    sessions: new Rows(new MapDisk<SessionRow>(), () => true),
    webhooks: new Rows(new MapDisk<WebhookRow>(), () => true),
    audit: auditTable(),
  };
}
