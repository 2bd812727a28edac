// What may stand in the config file, and what is wrong with a text that is none?
import { PROJECT_NAME } from "../../src/shared/access/project.ts";
import { isSafeAddress } from "../../src/shared/proof.ts";
import { jsonFault } from "../json-file.ts";

/** The version that this command writes, and the only one that it reads (cli.md#config). */
export const CONFIG_VERSION = 1;

/** The context that is always there: the Drover of a `drover up` on this machine. */
export const LOCAL = "local";

/** Secrets by the names that the command of a run has for them. */
export type SecretUses = Record<string, { secret: string; as: "file" | "env" }>;

/** What `drover run` takes where neither a flag nor a file says otherwise (cli.md#defaults). */
export interface Defaults {
  pool?: string;
  env?: Record<string, string>;
  secrets?: SecretUses;
}

/** A context as it is stored. That of the name `local` has only defaults. */
export interface StoredContext extends Defaults {
  url?: string;
  token?: string;
  project?: string;
}

/** The content of the config file. Fields that this command does not know stay in it. */
export interface Config {
  version: typeof CONFIG_VERSION;
  /** The context that commands use; absent for `local`. */
  current?: string;
  contexts: Record<string, StoredContext>;
}

/** Why a text is no config. `isOtherVersion`: another version of Drover has written it. */
export interface ConfigFault {
  fault: string;
  isOtherVersion?: boolean;
}

const CONTEXT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const CONTEXT_NAME_TEXT =
  "has 1 to 63 letters, digits, dots, - and _, and begins with a letter or digit";

/** Whether a text can be the name of a context. */
export function isContextName(text: string): boolean {
  return CONTEXT_NAME.test(text);
}

/** A config without contexts. */
export function emptyConfig(): Config {
  return { version: CONFIG_VERSION, contexts: {} };
}

/** The context of this name; undefined if there is none. */
export function contextIn({ contexts }: Config, name: string): StoredContext | undefined {
  return Object.hasOwn(contexts, name) ? contexts[name] : undefined;
}

/** The config with this context in place of the one of the same name; without it, if it is undefined. */
export function withContext(config: Config, name: string, context: StoredContext | undefined): Config {
  const { [name]: _before, ...others } = config.contexts;
  return { ...config, contexts: context === undefined ? others : { ...others, [name]: context } };
}

/** The config in which this context is the current one. */
export function withCurrent({ current: _before, ...config }: Config, name: string): Config {
  return name === LOCAL ? config : { ...config, current: name };
}

/** Reads the text of a config file (cli.md#config). */
export function parseConfig(text: string): Config | ConfigFault {
  const value = parsed(text);
  if ("fault" in value) return value;
  const { content } = value;
  if (!isMap(content)) return { fault: "it does not hold one JSON object" };
  if (content.version !== CONFIG_VERSION) {
    const { version } = content;
    const found = version === undefined ? "no version" : `version ${JSON.stringify(version)}`;
    const fault = `it has ${found}, and this command reads version ${CONFIG_VERSION}`;
    return { fault, isOtherVersion: true };
  }
  const [fault] = [...faultsOf(content)];
  if (fault !== undefined) return { fault };
  return content as unknown as Config; // each field that is read has been checked
}

function parsed(text: string): { content: unknown } | ConfigFault {
  try {
    return { content: JSON.parse(text) };
  } catch (error) {
    // `JSON.parse` throws only this.
    const { text: why, line, column } = jsonFault(text, error as SyntaxError);
    return { fault: `it is not valid JSON: ${why} (line ${line}, column ${column})` };
  }
}

type Fields = Record<string, unknown>;

function* faultsOf({ contexts, current }: Fields): Generator<string> {
  if (!isMap(contexts)) return yield "`contexts` is not an object";
  for (const [name, context] of Object.entries(contexts)) {
    const at = `\`contexts.${name}\``;
    if (!isContextName(name)) yield `${at} is no name of a context, which ${CONTEXT_NAME_TEXT}`;
    else if (!isMap(context)) yield `${at} is not an object`;
    else yield* contextFaults(`contexts.${name}`, name === LOCAL, context);
  }
  if (current === undefined || current === LOCAL) return;
  if (typeof current !== "string") yield "`current` is not a text";
  else if (!Object.hasOwn(contexts, current)) yield `\`current\` is ${current}, and there is no such context`;
}

function* contextFaults(at: string, isLocal: boolean, context: Fields): Generator<string> {
  const { url, token, project, pool, env, secrets } = context;
  if (isLocal) {
    const own = ["url", "token", "project"].find((field) => context[field] !== undefined);
    if (own !== undefined) yield `\`${at}.${own}\` is set, but \`${LOCAL}\` is the Drover of \`drover up\``;
  } else {
    if (typeof url !== "string" || !isSafeAddress(url)) {
      yield `\`${at}.url\` is not an https URL, or an http URL of this machine`;
    }
    if (typeof token !== "string" || token === "") yield `\`${at}.token\` is not a token`;
  }
  const isName = typeof project === "string" && PROJECT_NAME.test(project);
  if (project !== undefined && !isName) yield `\`${at}.project\` is no name of a project`;
  if (pool !== undefined && typeof pool !== "string") yield `\`${at}.pool\` is not a text`;
  if (env !== undefined && !isMapOf(env, (value) => typeof value === "string")) {
    yield `\`${at}.env\` is not an object whose values are texts`;
  }
  if (secrets !== undefined && !isMapOf(secrets, isSecretUse)) {
    yield `\`${at}.secrets\` is not an object of objects such as {"secret": "deploy-token", "as": "env"}`;
  }
}

function isSecretUse(value: unknown): boolean {
  return isMap(value) && typeof value.secret === "string" && (value.as === "env" || value.as === "file");
}

function isMap(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMapOf(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return isMap(value) && Object.values(value).every(isRight);
}
