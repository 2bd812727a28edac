// Where are the credentials of a cloud account (secrets.md#providers)? Only their name is stored with a pool.
import { z } from "zod";
import { SecretName } from "../../run/secret-name.ts";

/** Credentials that are a secret of this Drover. */
export const NamedSecret = z
  .strictObject({ secret: SecretName.describe("the name of the secret") })
  .meta({ id: "ProviderSecret" });

/** The same as it is stored: with the project to which the secret belongs. */
export const StoredSecret = NamedSecret.extend({ project: z.string() });
export type StoredSecret = z.output<typeof StoredSecret>;

/** Credentials that are a binding of the Worker: a text, or an entry of a secrets store. */
export const Binding = z
  .strictObject({
    binding: z
      .string()
      // Other bindings are Drover's own, and a provider must not get them (secrets.md#providers).
      .regex(/^CLOUD_[A-Z0-9_]{1,58}$/, "must be the name of a binding that begins with `CLOUD_`")
      .describe(
        "the name of a secret that was set with `wrangler secret put`, or of a Secrets Store binding",
      ),
  })
  .meta({ id: "CredentialBinding" });
export type Binding = z.output<typeof Binding>;

const WRONG =
  'must name a secret, such as {"secret": "cloud"}, or a binding, such as {"binding": "CLOUD_CI"}';

/** The credentials of a cloud account in a PUT and in an answer. */
export const NamedCredentials = z.union([Binding, NamedSecret], WRONG).meta({ id: "Credentials" });

/** The same as they are stored. */
export const StoredCredentials = z.union([Binding, StoredSecret], WRONG);
export type StoredCredentials = z.output<typeof StoredCredentials>;
