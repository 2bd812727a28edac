// A pool's project at a fake Compute Engine, and what it asks for.
import { gceProvider } from "../../../src/providers/gce/provider.ts";
import type { Provider } from "../../../src/providers/provider.ts";
import { GceConfig } from "../../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../../src/schema/provider.ts";
import { type GceFake, IMAGE, KEY, PROJECT, ZONES } from "../gce-fake.ts";

/** An instant at which nothing special happens. */
export const START = Date.UTC(2026, 10, 22, 10, 11, 12);
/** Long enough for every answer that comes, and short enough to wait for one that does not. */
const TIMEOUT_MS = 20_000;
const CODE = "drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

export function providerOf(
  { cloud, url }: GceFake,
  own: Partial<GceConfig> = {},
  credentials = JSON.stringify(KEY, null, 2),
): Provider {
  const place = { project: PROJECT, zones: [...ZONES], endpoint: url };
  const stored = { kind: "gce", credentials: { binding: "CLOUD_GOOGLE" }, ...place, ...own };
  return gceProvider({ config: GceConfig.parse(stored), credentials }, () => cloud.now, TIMEOUT_MS);
}

export function wanted(token: string, own: Partial<CreateInstance> = {}): CreateInstance {
  return {
    token,
    name: token,
    instanceType: "e2-standard-2",
    image: IMAGE,
    userData: `#!/bin/sh\necho ${CODE} é\n`,
    tags: { team: "ci", "drover-worker": token, "drover-pool": "p" },
    resources: { vcpus: 2, memoryBytes: 8 * 2 ** 30, diskBytes: 20 * 2 ** 30, gpus: 0 },
    ...own,
  };
}
