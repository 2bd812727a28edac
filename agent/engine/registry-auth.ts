// How does the agent say to an engine who it is at a registry?
import type { RegistryAuth } from "./types.ts";

/**
 * The value of the header `X-Registry-Auth` (engine.md#registry-auth): JSON in the URL's form of base64, with
 * its padding, without which engines refuse it.
 */
export function registryAuthHeader(auth: RegistryAuth): string {
  const encoded = Buffer.from(JSON.stringify(fieldsOf(auth)), "utf8").toString("base64");
  return encoded.replaceAll("+", "-").replaceAll("/", "_");
}

function fieldsOf(auth: RegistryAuth): Record<string, string> {
  const server: Record<string, string> =
    auth.serverAddress === undefined ? {} : { serveraddress: auth.serverAddress };
  if ("identityToken" in auth) return { identitytoken: auth.identityToken, ...server };
  if ("registryToken" in auth) return { registrytoken: auth.registryToken, ...server };
  return { username: auth.username, password: auth.password, ...server };
}
