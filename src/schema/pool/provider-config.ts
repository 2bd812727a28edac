// How does a pool reach its provider, and where are the provider's credentials?
import { z } from "zod";
import { PROVIDER_KINDS } from "../../shared/cloud/kinds.ts";
import { ServiceUrl } from "../service-url.ts";
import { Ec2Config, FlyConfig, GceConfig, HetznerConfig } from "./providers/clouds.ts";
import { NamedCredentials, NamedSecret, StoredSecret } from "./providers/credentials.ts";

export type { StoredCredentials, StoredSecret } from "./providers/credentials.ts";

/** A secret that can be sent in a header. */
export const HeaderSecret = z
  .string()
  .max(1_024)
  .regex(/^[!-~]+$/, "must be printable ASCII without blanks, since it is sent in a header");

const WRONG_SECRET = 'must be a string, or the name of a secret, such as {"secret": "cloud"}';

/** An HTTP service of the user, as it is stored. */
const HttpConfig = z.strictObject({
  kind: z.literal("http"),
  url: ServiceUrl,
  secret: z.union([HeaderSecret, StoredSecret], WRONG_SECRET),
  powerOff: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .describe("a command that a machine runs to end itself, so that it costs nothing any more"),
  notice: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .describe("a command that prints the provider's notice of an interruption, or nothing"),
});
export type HttpConfig = z.output<typeof HttpConfig>;

/** No provider: the pool has self-hosted machines alone. */
const NoneConfig = z.strictObject({ kind: z.literal("none") });

/** Names the kinds, if a kind is unknown. */
const ofKind = {
  error: ({ code }: { code: string }) =>
    code === "invalid_union" ? `must be one of ${PROVIDER_KINDS.join(", ")}` : undefined,
};

/** A provider, as it is stored. */
export const ProviderConfig = z.discriminatedUnion(
  "kind",
  [HttpConfig, NoneConfig, HetznerConfig, Ec2Config, FlyConfig, GceConfig],
  ofKind,
);
export type ProviderConfig = z.output<typeof ProviderConfig>;

const named = { credentials: NamedCredentials };
const clouds = [
  HetznerConfig.extend(named).meta({ id: "HetznerProvider" }),
  Ec2Config.extend(named).meta({ id: "Ec2Provider" }),
  FlyConfig.extend(named).meta({ id: "FlyProvider" }),
  GceConfig.extend(named).meta({ id: "GceProvider" }),
] as const;

/** A provider in a PUT. */
export const PutProvider = z
  .discriminatedUnion(
    "kind",
    [
      HttpConfig.extend({
        secret: z
          .union([HeaderSecret, NamedSecret], WRONG_SECRET)
          .optional()
          .describe(
            "the text itself, or the name of a secret; if absent, a pool with the same `url` keeps " +
              "its secret",
          ),
      }),
      NoneConfig,
      ...clouds,
    ],
    ofKind,
  )
  .meta({ id: "Provider" });
export type PutProvider = z.output<typeof PutProvider>;

/** A provider in an answer. */
export const ShownProvider = z
  .discriminatedUnion("kind", [
    HttpConfig.extend({
      secret: NamedSecret.optional().describe("only if it is a secret of this Drover; a text is never shown"),
    }),
    NoneConfig,
    ...clouds,
  ])
  .meta({ id: "ShownProvider" });
