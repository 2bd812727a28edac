// Which provider is tested, and with which credentials?
import { randomUUID } from "node:crypto";
import type { Provider } from "../../src/providers/provider.ts";
import { providerOf } from "../../src/providers/provider-of.ts";
import { jsonOf } from "../../src/schema/json.ts";
import type { ProviderConfig, PutProvider } from "../../src/schema/pool/provider-config.ts";
import { PutPoolConfig } from "../../src/schema/pool.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { CliError } from "../errors.ts";
import { contentOf, readPoolFile } from "../json-file.ts";
import { printable } from "../terminal/text.ts";

/** A provider with the text of its credentials: the test calls it itself, and no Drover shows them. */
export interface Tested {
  config: ProviderConfig;
  credentials: string;
}

/**
 * The pool in a file, and its provider with the text of the credentials. Each path may be `-`, but not both.
 * Throws a `CliError`.
 */
export async function readTested(
  file: string,
  credentials: string | undefined,
): Promise<{ name: string; config: PutPoolConfig; tested: Tested }> {
  if (file === "-" && credentials === "-") {
    throw new CliError("Only one of the pool and its credentials can come from standard input.", []);
  }
  const { name, config } = await readPool(file);
  const given = credentials === undefined ? undefined : await contentOf(credentials);
  return { name, config, tested: testedProvider(config.provider, given) };
}

async function readPool(file: string): Promise<{ name: string; config: PutPoolConfig }> {
  const { name, content } = await readPoolFile(file);
  const { data, error } = PutPoolConfig.safeParse(content);
  if (data !== undefined) return { name, config: data };
  const issues = error.issues.map(({ path, message }) => printable(`/${path.join("/")}: ${message}`));
  throw new CliError(`${file} is not the configuration of a pool.`, issues);
}

/** The provider of a pool's file. `given`: the text of `--credentials`. Throws a `CliError`. */
export function testedProvider(provider: PutProvider, given: string | undefined): Tested {
  if (provider.kind === "none") {
    throw new CliError("The pool has no provider to test.", ['Its `kind` is "none".']);
  }
  if (provider.kind === "http") {
    const { secret: written, ...config } = provider;
    const secret = given?.trim() ?? written;
    if (typeof secret === "string") return { config: { ...config, secret }, credentials: secret };
    const has = secret === undefined ? "no `secret`" : `only the name of a secret, "${secret.secret}"`;
    throw new CliError(`The provider has ${has}.`, [
      "Give its text as `provider.secret`, or with --credentials: this test calls the provider itself.",
    ]);
  }
  if (given === undefined) {
    throw new CliError(`To test ${TRAITS[provider.kind].title}, its credentials are needed.`, [
      "Give their text with --credentials: the name of a file, or - for standard input.",
    ]);
  }
  // Only adapters read this, and they get the text itself.
  const credentials = { binding: "CLOUD_TESTED" };
  return { config: { ...provider, credentials }, credentials: given };
}

/** The provider as the owner of the credentials calls it, and as somebody with wrong ones does. */
export function callers(
  { config, credentials }: Tested,
  now: () => number,
): { owner: Provider; stranger: Provider } {
  const owner = providerOf(config, credentials, now);
  const wrong = spoiled(credentials);
  const stranger = providerOf(config.kind === "http" ? { ...config, secret: wrong } : config, wrong, now);
  if (owner === null || stranger === null) throw new Error("a tested pool has a provider");
  return { owner, stranger };
}

/** Credentials of the same form that nobody has. */
function spoiled(credentials: string): string {
  const json = jsonOf(credentials);
  if (typeof json !== "object" || json === null) return randomUUID();
  const fields = ["secretAccessKey", "client_email"].filter((field) => Object.hasOwn(json, field));
  const wrong = Object.fromEntries(fields.map((field) => [field, `${randomUUID()}@example.com`]));
  return JSON.stringify({ ...json, ...wrong });
}
