// How does Drover prove to Google that it acts for a service account?
import { z } from "zod";
import type { ProviderFailure } from "../../core/provider-answers.ts";
import { jsonOf } from "../../schema/json.ts";

const ServiceAccountKey = z.object({
  type: z.literal("service_account"),
  client_email: z.string().regex(/^[!-~]{1,256}@[!-~]{1,256}$/),
  private_key_id: z.string().regex(/^[\w-]{1,128}$/),
  private_key: z.string().includes("-----BEGIN PRIVATE KEY-----"),
});
export type ServiceAccountKey = z.infer<typeof ServiceAccountKey>;

/** Compute Engine takes a token that the account itself has signed, if it is for this address. */
const AUDIENCE = "https://compute.googleapis.com/";
/** Google takes tokens that are good for an hour at most. */
const GOOD_FOR_S = 3_600;
/** Google's clock may be behind Drover's. */
const MARGIN_S = 60;

/**
 * Reads the text of a secret as the key file of a service account (clouds/gce.md#credentials). A text of
 * another form is a failure that says which form is needed, and quotes nothing.
 */
export function keyIn(text: string): { key: ServiceAccountKey } | { failure: ProviderFailure } {
  const { data, error } = ServiceAccountKey.safeParse(jsonOf(text));
  if (data !== undefined) return { key: data };
  const field = error.issues[0]?.path[0];
  const what = field === undefined ? "are no JSON" : `have no valid \`${String(field)}\``;
  const fault =
    `the credentials of the Google account ${what}; they must be the key file of a service account, as ` +
    "`gcloud iam service-accounts keys create` writes it";
  return { failure: { class: "auth", text: fault, refused: true } };
}

/**
 * A token that the account has signed itself, as the value of `Authorization`. `now`: in milliseconds.
 * `audience`: the service that takes it.
 */
export async function bearerOf(
  key: ServiceAccountKey,
  now: number,
  audience = AUDIENCE,
): Promise<string | undefined> {
  const { client_email: account, private_key_id: kid, private_key: pem } = key;
  const at = Math.floor(now / 1_000) - MARGIN_S;
  const claims = { iss: account, sub: account, aud: audience, iat: at, exp: at + GOOD_FOR_S };
  const signed = `${base64Url({ alg: "RS256", typ: "JWT", kid })}.${base64Url(claims)}`;
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  try {
    const imported = await crypto.subtle.importKey("pkcs8", bytesOf(pem), algorithm, false, ["sign"]);
    const signature = await crypto.subtle.sign(algorithm.name, imported, new TextEncoder().encode(signed));
    return `Bearer ${signed}.${urlSafe(btoa(String.fromCharCode(...new Uint8Array(signature))))}`;
  } catch {
    return undefined; // it is no key
  }
}

function bytesOf(pem: string): Uint8Array<ArrayBuffer> {
  const text = atob(pem.replace(/-----[A-Z ]+-----/g, "").replace(/\s/g, ""));
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function base64Url(value: object): string {
  return urlSafe(btoa(JSON.stringify(value)));
}

function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
