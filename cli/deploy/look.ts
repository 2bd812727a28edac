// What is there already: at the account, and at the control plane (deploy.md#facts)?
import { ApiError, StrangerError, UnreachableError } from "../../client/errors.ts";
import { silentPool } from "../backup/whole.ts";
import type { Config } from "../config/config.ts";
import { clientFor } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Candidate, Deployed, Facts, Running, Silent } from "./facts.ts";
import { textOf, wranglerFailed } from "./failure.ts";
import type { DeploymentRecord } from "./record.ts";
import type { Wrangler } from "./wrangler.ts";

/** The most machines that one request asks for. */
const PAGE = 1_000;

export interface Account {
  id: string;
  name: string;
}

/** The accounts of the login; undefined: nobody is logged in. */
export async function accountsOf(wrangler: Wrangler): Promise<Account[] | undefined> {
  const said = await wrangler.call(["whoami", "--json"]);
  const answer = parsed(said.stdout);
  if (answer?.loggedIn === false) return undefined;
  if (said.code !== 0 || !Array.isArray(answer?.accounts)) throw wranglerFailed("say who is logged in", said);
  return answer.accounts as Account[]; // as wrangler writes them
}

/** The names of the secrets of a Worker; null: there is no such Worker. */
export async function secretsOf(wrangler: Wrangler, config: string): Promise<string[] | null> {
  const said = await wrangler.call(["secret", "list", "--config", config, "--format", "json"]);
  if (said.code !== 0 && /\bnot found\b|\b10007\b/i.test(textOf(said))) return null;
  const list: unknown = said.code === 0 ? JSON.parse(said.stdout) : undefined;
  if (!Array.isArray(list)) throw wranglerFailed("list the secrets of the Worker", said);
  return list.map(({ name }: { name: string }) => name);
}

/** The names of the buckets of an account. */
export async function bucketsOf(wrangler: Wrangler, config: string): Promise<string[]> {
  const said = await wrangler.call(["r2", "bucket", "list", "--config", config]);
  if (said.code !== 0) throw wranglerFailed("list the buckets", said);
  return [...said.stdout.matchAll(/^name:\s+(\S+)\s*$/gm)].map(([, name = ""]) => name);
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // `JSON.parse` throws only a SyntaxError
  }
}

/** What a person says of where the control plane is. */
interface Named {
  /** The name of the Worker. */
  name: string;
  domain: string | undefined;
  /** `--context`. */
  context: string | undefined;
  /** `DROVER_URL` with `DROVER_TOKEN`. */
  env: NodeJS.ProcessEnv;
}

/**
 * Where the control plane of a Worker may be (deploy.md#facts): as the record of this account says, or as a
 * person names it now. Other contexts are not tried: another account may have a Worker of the same name.
 */
export function candidatesOf(record: DeploymentRecord, { contexts }: Config, named: Named): Candidate[] {
  const { name, domain, context, env } = named;
  const stored = Object.entries(contexts).flatMap(([of, { url, token }]) =>
    url === undefined || token === undefined ? [] : [{ of, url, token }],
  );
  const [url, token] = [env.DROVER_URL?.replace(/\/+$/, ""), env.DROVER_TOKEN];
  const given = url && token && URL.canParse(url) ? [{ url, token }] : [];
  const chosen = [...stored.filter(({ of }) => of === context), ...given].filter((one) => {
    const { hostname } = new URL(one.url);
    const isOfWorkersDev = hostname.startsWith(`${name}.`) && hostname.endsWith(".workers.dev");
    return isOfWorkersDev || hostname === domain || one.url === record.url;
  });
  const tokens = [record.nextToken, record.secrets.DROVER_ADMIN_TOKEN].filter((one) => one !== undefined);
  const places = [record.url, record.nextUrl].filter((one) => one !== undefined);
  const own = places.flatMap((place) => tokens.map((one) => ({ url: place, token: one })));
  const known = stored.filter((one) => one.url === record.url);
  return [...chosen, ...own, ...known].map((one) => ({ url: one.url, token: one.token }));
}

/** The Drover that a person names now, in words; undefined: none. */
export function namedDrover({ context, env }: Pick<Named, "context" | "env">): string | undefined {
  if (context !== undefined) return `--context names the Drover ${context}`;
  return env.DROVER_URL ? `DROVER_URL names the Drover at ${env.DROVER_URL}` : undefined;
}

/** The first of these that answers as a Drover to its own token, or else what the others have said. */
export async function found(
  candidates: readonly Candidate[],
): Promise<Pick<Facts, "running" | "silent" | "isRefused">> {
  let silent: Silent | undefined;
  let isRefused = false;
  for (const one of candidates) {
    const deployed = await deployedAt(one);
    if (deployed === "refused") isRefused = true;
    else if (deployed === "silent" || deployed === "old") silent ??= { ...one, isOld: deployed === "old" };
    else return { running: await runningAs(one, deployed), silent: undefined, isRefused: false };
  }
  return { running: undefined, silent, isRefused };
}

/**
 * What the control plane at this address says to this token. `silent`: nothing that a Drover would say;
 * `old`: that it does not know the question.
 */
export async function deployedAt(candidate: Candidate): Promise<Deployed | "refused" | "silent" | "old"> {
  try {
    const client = clientFor(candidate);
    return await client.deployment.get({ patience: { unreachableMs: 0, busyMs: 0 } });
  } catch (error) {
    if (error instanceof StrangerError) return "refused";
    if (error instanceof UnreachableError) return "silent";
    if (!(error instanceof ApiError)) throw error;
    if ([401, 403].includes(error.status)) return "refused";
    return error.status === 404 && error.code === "not_found" ? "old" : "silent";
  }
}

/** All machines of a control plane. What could not be asked is said, and is no failure yet. */
async function runningAs(candidate: Candidate, deployed: Deployed): Promise<Running> {
  const running = { ...candidate, deployed };
  const workers: { id: string; pool: string; protocol?: number }[] = [];
  try {
    for (let cursor: string | undefined; ; ) {
      const page = await clientFor(candidate).workers.list({ limit: PAGE, cursor });
      for (const { id, pool, protocol } of page.items) {
        workers.push({ id, pool, ...(protocol === undefined ? {} : { protocol }) });
      }
      const silent = silentPool(page);
      if (silent !== undefined) return { ...running, workers, unseen: silent };
      if (page.next === null) return { ...running, workers };
      cursor = page.next;
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { ...running, workers, unseen: error.detail };
  }
}

/** The account to deploy to: the one that was named, or the only one. `ask`: asks which of several. */
export async function chosenAccount(
  accounts: readonly Account[],
  named: string | undefined,
  ask: ((question: string, choices: readonly string[]) => Promise<string>) | undefined,
): Promise<Account> {
  const names = accounts.map(({ id, name }) => `${name} (${id})`);
  const wanted = named ?? (accounts.length > 1 ? await ask?.("Which account", names) : accounts[0]?.id);
  const found = accounts.find(({ id, name }) => id === wanted || name === wanted);
  if (found !== undefined) return found;
  if (accounts.length === 0) {
    throw new CliError("This login has no account at Cloudflare.", ["Give the token access to one."]);
  }
  const what = wanted === undefined ? "The login has several accounts." : `There is no account ${wanted}.`;
  throw new CliError(what, [`Name one with --account: ${names.join(", ")}`]);
}
