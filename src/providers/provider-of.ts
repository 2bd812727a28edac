// Which provider does a configuration mean?
import type { ProviderConfig } from "../schema/pool/provider-config.ts";
import { ec2Provider } from "./ec2/provider.ts";
import { flyProvider } from "./fly/provider.ts";
import { gceProvider } from "./gce/provider.ts";
import { hetznerProvider } from "./hetzner/provider.ts";
import { httpProvider } from "./http.ts";
import type { Provider } from "./provider.ts";

/** A provider with the text of its credentials. Null: the pool has no provider, and calls none. */
export function providerOf(config: ProviderConfig, credentials: string, now: () => number): Provider | null {
  switch (config.kind) {
    case "none":
      return null;
    case "http":
      return httpProvider({ ...config, secret: credentials }, now);
    case "hetzner":
      return hetznerProvider({ config, credentials }, now);
    case "ec2":
      return ec2Provider({ config, credentials }, now);
    case "fly":
      return flyProvider({ config, credentials }, now);
    case "gce":
      return gceProvider({ config, credentials }, now);
  }
}
