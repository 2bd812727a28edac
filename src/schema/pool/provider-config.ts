// How does a pool reach its provider, and which forms does the provider's secret have?
import { z } from "zod";
import { SecretName } from "../run/task.ts";
import { ServiceUrl } from "../service-url.ts";

/** A secret that can be sent in a header. */
export const HeaderSecret = z
  .string()
  .max(1_024)
  .regex(/^[!-~]+$/, "must be printable ASCII without blanks, since it is sent in a header");

/** A provider's secret that is a secret of this Drover (secrets.md#providers). */
const NamedSecret = z
  .strictObject({ secret: SecretName.describe("the name of the secret") })
  .meta({ id: "ProviderSecret" });

/** The same as it is stored: with the project to which the secret belongs. */
const StoredSecret = NamedSecret.extend({ project: z.string() });
export type StoredSecret = z.output<typeof StoredSecret>;

const WRONG_SECRET = 'must be a string, or the name of a secret, such as {"secret": "cloud"}';

/** A provider, as it is stored. */
export const ProviderConfig = z.strictObject({
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
export type ProviderConfig = z.output<typeof ProviderConfig>;

/** A provider in a PUT. */
export const PutProvider = ProviderConfig.extend({
  secret: z
    .union([HeaderSecret, NamedSecret], WRONG_SECRET)
    .optional()
    .describe(
      "the text itself, or the name of a secret; if absent, an existing pool with the same `url` keeps its " +
        "secret",
    ),
}).meta({ id: "Provider" });

/** A provider in an answer. */
export const ShownProvider = ProviderConfig.extend({
  secret: NamedSecret.optional().describe("only if it is a secret of this Drover; a text is never shown"),
}).meta({ id: "ShownProvider" });
