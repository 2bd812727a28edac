// How is a provider asked to create, list, find and destroy machines?

import type { CreateWorker } from "../../core/messages.ts";
import type { PriceNews } from "../../core/pool/plan/prices.ts";
import type { Listing } from "../../core/pool/provider/sweep.ts";
import type {
  ConsoleAnswer,
  CreateAnswer,
  DestroyAnswer,
  FindAnswer,
  PricedType,
  ProviderFailure,
} from "../../core/provider-answers.ts";
import { resourcesOfType } from "../../core/spec.ts";
import type { OwnMachine } from "../../core/worker/machine.ts";
import { AGENT } from "../../generated/agent-bundle.ts";
import type { KnownMachine, Provider } from "../../providers/provider.ts";
import { providerOf } from "../../providers/provider-of.ts";
import { type Veil, veilOf } from "../../providers/veil.ts";
import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import { accountName } from "../../shared/cloud/account.ts";
import { TRAITS } from "../../shared/cloud/kinds.ts";
import { POOL_TAG, WORKER_TAG } from "../../shared/cloud/tags.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { bootToken } from "../../signing/boot-token.ts";
import { enrollmentCode } from "../../signing/code.ts";
import { droverNow } from "../clock.ts";
import { type Env, urlOf } from "../env.ts";
import { ProviderSecrets } from "./provider-secrets.ts";
import { hostCommands, userDataScript } from "./user-data.ts";

/** How often the prices of types are asked for, at most: spot prices change a few times a day. */
const PRICES_EVERY_MS: Millis = 10 * 60_000;
/** After a longer listing prices are left for the next one: both calls must fit into one message. */
const LONG_LISTING_MS: Millis = 10_000;

/** Failures that pass: the next listing asks again. */
const PASSING: readonly ProviderFailure["class"][] = ["temporary", "rate_limit"];

/** The provider's machines, as one object asks for them. */
export class Cloud {
  readonly #env: Env;
  readonly #secrets: ProviderSecrets;
  /** The types for which prices were last asked, and when. */
  #priced: { of: string; at: Instant } | undefined;

  constructor(env: Env) {
    this.#env = env;
    this.#secrets = new ProviderSecrets(env, droverNow);
  }

  /** What this version of Drover adds to the bytes of a create call (clouds.md#same-bytes). */
  get facts(): NonNullable<CreateWorker["frozen"]> {
    return { url: urlOf(this.#env), agentSha256: AGENT.sha256 };
  }

  /**
   * Asks the provider for a worker's machine. The worker's id is the token: the same token gets the same
   * instance.
   */
  async create(intent: CreateWorker): Promise<CreateAnswer> {
    const { worker, pool, type, zone, settings } = intent;
    const { url, agentSha256 } = intent.frozen ?? this.facts;
    if (url === "") {
      const text = "DROVER_URL is not set, so hosts would not know where to report; set it and deploy again";
      return { kind: "failed", failure: { class: "temporary", text, refused: true } };
    }
    const code = enrollmentCode(worker, intent.notAfter + settings.bootMs, this.#env.DROVER_SIGNING_KEY);
    const boot = bootToken(code);
    const facts = { url, code, boot, agentSha256, ...hostCommands(intent.provider) };
    return this.#ask(intent.provider, (provider) =>
      provider.create({
        token: worker,
        name: worker,
        instanceType: type.providerType ?? intent.instanceType,
        image: intent.image,
        userData: userDataScript(facts),
        tags: { ...intent.tags, [WORKER_TAG]: worker, [POOL_TAG]: pool },
        resources: resourcesOfType(type),
        ...(zone === null ? {} : { zone }),
        ...(type.preemptible === true ? { spot: true } : {}),
      }),
    );
  }

  /** All machines with this tag. `consistencyMs`: as in `Sighting`. */
  async list(
    config: ProviderConfig,
    { tag, known, priced }: { tag: string; known: readonly KnownMachine[]; priced: PricedType[] },
  ): Promise<Listing> {
    const about: Pick<Listing, "credentials" | "prices" | "tookMs"> = {};
    const answer = await this.#ask(config, async (provider, secret) => {
      about.credentials = await digestOf(secret);
      const { answer: listed, tookMs } = await timed(() => provider.list(tag, known));
      about.tookMs = tookMs;
      const isLong = tookMs > LONG_LISTING_MS;
      const prices =
        listed.kind === "failed" || isLong ? undefined : await this.#prices(provider, config, priced);
      if (prices !== undefined) about.prices = prices;
      return listed;
    });
    const { listConsistencyMs: consistencyMs } = TRAITS[config.kind];
    return { answer, consistencyMs, ...about };
  }

  /** What these types cost, asked now and then. Undefined: nobody asked, or the provider cannot say now. */
  async #prices(
    provider: Provider,
    config: ProviderConfig,
    priced: PricedType[],
  ): Promise<PriceNews | undefined> {
    const [of, now] = [`${accountName(config)} ${JSON.stringify(priced)}`, droverNow()];
    const isFresh = this.#priced?.of === of && Math.abs(now - this.#priced.at) < PRICES_EVERY_MS;
    if (provider.prices === undefined || priced.length === 0 || isFresh) return undefined;
    const answer = await provider.prices(priced);
    if (answer.kind === "failed" && PASSING.includes(answer.failure.class)) return undefined;
    this.#priced = { of, at: now };
    return { of: priced, named: answer.kind === "prices" ? answer.prices : null };
  }

  /** Looks for one machine by itself. */
  async find({ provider: config, ...machine }: OwnMachine): Promise<FindAnswer> {
    const answer = await this.#ask(config, (provider) => provider.find(knownMachine(machine)));
    return answer.kind === "failed" ? { kind: "unsure", text: answer.failure.text } : answer;
  }

  /**
   * The end of a machine's console, and what hides the secrets that Drover has put into the machine's user
   * data, and the credentials. Nothing of the answer may be stored or shown without that.
   */
  async console(
    { provider: config, ...machine }: OwnMachine,
    { worker, notAfter, settings }: CreateWorker,
  ): Promise<{ answer: ConsoleAnswer; veil: Veil }> {
    const code = enrollmentCode(worker, notAfter + settings.bootMs, this.#env.DROVER_SIGNING_KEY);
    const secrets = [code, bootToken(code)];
    const { worker: of, instance: id, zone } = machine;
    const answer = await this.#ask(config, async (provider, secret): Promise<ConsoleAnswer> => {
      secrets.push(secret);
      if (provider.console === undefined || id === null) return { kind: "none", text: "there is no console" };
      return provider.console({ worker: of, id, zone });
    });
    return { answer, veil: veilOf(secrets) };
  }

  /** Asks the provider to destroy a machine. */
  async destroy({ provider: config, ...machine }: OwnMachine): Promise<DestroyAnswer> {
    return this.#ask(config, (provider) => provider.destroy(knownMachine(machine)));
  }

  /** Makes a call with the provider's credentials. Without them nothing is sent. */
  async #ask<Answer>(
    config: ProviderConfig,
    call: (provider: Provider, secret: string) => Promise<Answer>,
  ): Promise<Answer | { kind: "failed"; failure: ProviderFailure }> {
    const found = await this.#secrets.find(config);
    if ("failure" in found) return { kind: "failed", failure: found.failure };
    const provider = providerOf(config, found.secret, droverNow);
    return provider === null ? { kind: "failed", failure: NO_PROVIDER } : call(provider, found.secret);
  }
}

/** A pool without a provider makes no calls, unless machines of a former provider are left. */
const NO_PROVIDER: ProviderFailure = {
  class: "invalid",
  text: 'the pool has no provider (`kind: "none"`)',
  scope: "all",
  refused: true,
};

/** The answer to a call, and how long it took (pool.md#histograms). */
export async function timed<Answer>(
  call: () => Promise<Answer>,
): Promise<{ answer: Answer; tookMs: Millis }> {
  const beganAt = droverNow();
  const answer = await call();
  return { answer, tookMs: droverNow() - beganAt };
}

/** The beginning of a digest, which says whether a text has changed and reveals nothing of it. */
async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest).slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function knownMachine({ worker, instance, zone }: Omit<OwnMachine, "provider">): KnownMachine {
  return { worker, id: instance, zone };
}
