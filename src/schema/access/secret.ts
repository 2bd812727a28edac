// What do the routes of secrets accept and answer (secrets.md#api), and what does a host ask for?
import { z } from "zod";
import { SECRET_PURPOSES } from "../../shared/access/secret-use.ts";
import { MAX_SECRET_BYTES } from "../../shared/limits.ts";
import { formatSize } from "../../shared/size.ts";
import { InstantText } from "../common.ts";
import { AttemptId, HostKey } from "../host.ts";

const encoder = new TextEncoder();

const TOO_LARGE = `must have at most ${formatSize(MAX_SECRET_BYTES)}`;
const BASE64_CHARS = 4;
const BASE64_BYTES = 3;

/** How many bytes a base64 text stands for. */
function bytesIn(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : Number(base64.endsWith("="));
  return (base64.length / BASE64_CHARS) * BASE64_BYTES - padding;
}

const Purpose = z.enum(SECRET_PURPOSES);

/** `PUT /v1/secrets/{name}`: the value as text, or as base64 for other bytes. */
export const SecretValue = z
  .strictObject({
    value: z
      .string()
      .min(1, "must not be empty")
      .refine((text) => encoder.encode(text).byteLength <= MAX_SECRET_BYTES, TOO_LARGE)
      .optional()
      .describe("the value as text"),
    base64: z
      .base64("must be base64, with padding")
      .min(1, "must not be empty")
      .refine((text) => bytesIn(text) <= MAX_SECRET_BYTES, TOO_LARGE)
      .optional()
      .describe("instead of `value`: the bytes of the value"),
    use: Purpose.optional().describe(
      "who can name it: tasks of runs, or pools for their providers; by default as before, or `run`",
    ),
  })
  .refine(({ value, base64 }) => (value === undefined) !== (base64 === undefined), {
    path: ["value"],
    message: "or `base64` is required, and not both",
  });
export type SecretValue = z.output<typeof SecretValue>;

/** A secret without its value, which nothing ever shows. */
export const Secret = z
  .object({
    name: z.string(),
    project: z.string(),
    use: Purpose.describe("who can name it; this stays until the secret is removed"),
    version: z.int().describe("counts the values that were set"),
    createdAt: InstantText,
    createdBy: z.string(),
    changedAt: InstantText.describe("when its present value was set"),
    changedBy: z.string(),
    lastHandedOn: z.iso.date().nullable().describe("the day on which an attempt last got it, in UTC"),
  })
  .meta({ id: "Secret" });
export type Secret = z.infer<typeof Secret>;

export const StoredSecret = Secret.extend({
  warnings: z.array(z.string()).describe("what its value cannot have, such as a mask in output"),
}).meta({ id: "StoredSecret" });
export type StoredSecret = z.infer<typeof StoredSecret>;

/** A wrapping key of this Drover (secrets.md#rotation). */
export const WrappingKey = z
  .object({
    number: z.int().describe("n of `DROVER_KEK_<n>`"),
    state: z
      .enum(["in_use", "unused", "missing"])
      .describe("`unused`: it can be deleted; `missing`: the secrets need it, and this Drover lacks it"),
  })
  .meta({ id: "WrappingKey" });

export const SecretList = z
  .object({ items: z.array(Secret), next: z.null(), wrappingKeys: z.array(WrappingKey) })
  .meta({ id: "SecretList" });
export type SecretList = z.infer<typeof SecretList>;

/** `POST /v1/hosts/{worker}/secrets`: signed, before an attempt with secrets starts. */
export const SecretsRequest = z.strictObject({
  attempt: AttemptId,
  publicKey: HostKey.describe("the key with which the host has enrolled"),
});
export type SecretsRequest = z.infer<typeof SecretsRequest>;

/** The secrets of an attempt, each sealed for its host (secrets.md#sealing). */
export const HostSecrets = z
  .object({
    items: z.array(
      z.object({
        name: z.string().describe("the name that the task has for it"),
        key: z.string().describe("the public key of a one-time key pair"),
        iv: z.string(),
        ct: z.string(),
      }),
    ),
  })
  .meta({ id: "HostSecrets" });
export type HostSecrets = z.infer<typeof HostSecrets>;
