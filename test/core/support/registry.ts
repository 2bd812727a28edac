import type { JobRow, RemovedJob } from "../../../src/core/job/listed.ts";
import { isLiveExchange } from "../../../src/core/registry/exchanged.ts";
import { isLiveKey, type SigningKeyRow } from "../../../src/core/registry/keys/signing-keys.ts";
import type { RegistryState } from "../../../src/core/registry/machine.ts";
import type { RegistryRecord } from "../../../src/core/registry/pools.ts";
import type { ProjectRow } from "../../../src/core/registry/projects.ts";
import { type DataKeyRow, isLiveRow, type SecretRow } from "../../../src/core/registry/secrets.ts";
import type { SessionRow } from "../../../src/core/registry/sessions.ts";
import { isLiveToken, type TokenRow } from "../../../src/core/registry/tokens.ts";
import { isLiveRule, type TrustRow } from "../../../src/core/registry/trust.ts";
import type { WebhookRow } from "../../../src/core/registry/webhooks.ts";
import { Rows } from "../../../src/core/rows.ts";
import { auditTable } from "./audit.ts";
import { MapDisk } from "./map-disk.ts";

/** A registry right after loading, with this record, empty tables, and these wrapping keys. */
export function registryOf(record: RegistryRecord | null, keks: number[] = []): RegistryState {
  return {
    record,
    refusals: {},
    tokens: new Rows(new MapDisk<TokenRow>(), isLiveToken),
    secrets: new Rows(new MapDisk<SecretRow>(), isLiveRow),
    dataKeys: new Rows(new MapDisk<DataKeyRow>(), isLiveRow),
    keks,
    projects: new Rows(new MapDisk<ProjectRow>(), () => true),
    sessions: new Rows(new MapDisk<SessionRow>(), () => true),
    webhooks: new Rows(new MapDisk<WebhookRow>(), () => true),
    jobs: new Rows(new MapDisk<JobRow>(), () => true),
    removedJobs: new Rows(new MapDisk<RemovedJob>(), () => false),
    audit: auditTable(),
    exchanged: new Rows(new MapDisk<TokenRow>(), isLiveExchange),
    trust: new Rows(new MapDisk<TrustRow>(), isLiveRule),
    keys: new Rows(new MapDisk<SigningKeyRow>(), isLiveKey),
  };
}
