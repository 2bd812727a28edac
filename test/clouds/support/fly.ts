// A pool's app at a fake Fly, and what it asks for.
import { flyProvider } from "../../../src/providers/fly/provider.ts";
import type { Provider } from "../../../src/providers/provider.ts";
import { FlyConfig } from "../../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../../src/schema/provider.ts";
import { APP, type FlyFake, IMAGE, TOKEN } from "../fly-fake.ts";

/** An instant at which nothing special happens. */
export const START = Date.UTC(2026, 10, 22, 10, 11, 12);
/** Long enough for every answer that comes, and short enough to wait for one that does not. */
const TIMEOUT_MS = 20_000;
const CODE = "drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

export function providerOf(
  { cloud, url }: FlyFake,
  own: Partial<FlyConfig> = {},
  credentials = TOKEN,
): Provider {
  const stored = { kind: "fly", app: APP, credentials: { binding: "CLOUD_FLY" }, endpoint: url, ...own };
  return flyProvider({ config: FlyConfig.parse(stored), credentials }, () => cloud.now, TIMEOUT_MS);
}

export function wanted(token: string, own: Partial<CreateInstance> = {}): CreateInstance {
  return {
    token,
    name: token,
    instanceType: "shared-cpu-2x",
    image: IMAGE,
    userData: `#!/bin/sh\necho ${CODE} é\n`,
    tags: { team: "ci", "drover-worker": token, "drover-pool": "p" },
    resources: { vcpus: 2, memoryBytes: 1_000 * 2 ** 20, diskBytes: 0, gpus: 0 },
    ...own,
  };
}
