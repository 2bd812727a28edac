// A pool's project at a fake Hetzner Cloud, and what it asks for.
import { hetznerProvider } from "../../../src/providers/hetzner/provider.ts";
import type { Provider } from "../../../src/providers/provider.ts";
import { HetznerConfig } from "../../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../../src/schema/provider.ts";
import { type HetznerFake, IMAGE, TOKEN } from "../hetzner-fake.ts";

/** An instant at which nothing special happens. */
export const START = Date.UTC(2026, 10, 22, 10, 11, 12);
/** Long enough for every answer that comes, and short enough to wait for one that does not. */
const TIMEOUT_MS = 20_000;
const CODE = "drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

export function providerOf(
  { cloud, url }: HetznerFake,
  own: Partial<HetznerConfig> = {},
  credentials = TOKEN,
): Provider {
  const config = HetznerConfig.parse({
    kind: "hetzner",
    credentials: { binding: "CLOUD_HETZNER" },
    endpoint: url,
    ...own,
  });
  return hetznerProvider({ config, credentials }, () => cloud.now, TIMEOUT_MS);
}

export function wanted(token: string, own: Partial<CreateInstance> = {}): CreateInstance {
  return {
    token,
    name: token,
    instanceType: "cx22",
    image: IMAGE,
    userData: `#!/bin/sh\necho ${CODE} é\n`,
    tags: { team: "ci", "drover-worker": token, "drover-pool": "p" },
    resources: { vcpus: 2, memoryBytes: 4 * 2 ** 30, diskBytes: 0, gpus: 0 },
    ...own,
  };
}
