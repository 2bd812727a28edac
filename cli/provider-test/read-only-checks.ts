// Which promises are judged without creating a machine?
import type { Instance } from "../../src/schema/provider.ts";
import { broken, type Check, type Finding, kept, unclear } from "./finding.ts";
import { type Call, callsOf, isPassing, type Listing, listingsOf, type Transcript } from "./transcript.ts";

const CONTRACT = "host-protocol.md#provider-contract";

/** The promises that are judged without creating a machine. */
export const READ_ONLY_CHECKS: readonly Check[] = [
  {
    name: "answers",
    rule: "cases.md#case-20; host-protocol.md#provider-errors",
    promise: "a call succeeds, at the latest after the pause that a refusal asks for",
    judge: answers,
  },
  {
    name: "secret",
    rule: CONTRACT,
    promise: "a caller with a wrong secret is refused, for that reason",
    judge: secret,
  },
  {
    name: "list-whole",
    rule: `${CONTRACT}; cases.md#case-19`,
    promise: "a listing is complete, however many pages it has",
    judge: byListings(whole),
  },
  {
    name: "list-steady",
    rule: "cases.md#case-4; rules.md#invariant-3",
    promise:
      "every listing shows every machine that exists, but for the zones that it says it could not read",
    judge: byListings(steady),
  },
  {
    name: "list-fixed",
    rule: "pool.md#provider-ids",
    promise: "the name, type and creation time of a machine never change",
    judge: byListings(fixed),
  },
  {
    name: "list-tag",
    rule: CONTRACT,
    promise: "a listing shows only machines with the requested tag",
    judge: byListings(tagged),
  },
  {
    name: "destroy-nobody",
    rule: `${CONTRACT} (200 or 404)`,
    promise: "a destroy call for a machine that does not exist is answered",
    judge: destroyMissing,
  },
];

/** Judges a transcript by its listings, if there are any. */
function byListings(judge: (listings: readonly Listing[]) => Finding): Check["judge"] {
  return (transcript) => {
    const listings = listingsOf(transcript);
    return listings.length === 0 ? unclear("no listing was answered") : judge(listings);
  };
}

function answers({ calls }: Transcript): Finding {
  if (calls.length === 0) return unclear("no call was made");
  const last = new Map<number, Call>();
  for (const call of calls) last.set(call.request, call);
  for (const { request, call, answer } of last.values()) {
    if (answer.kind !== "failed" || !isPassing(answer.failure)) continue;
    const tries = calls.filter((other) => other.request === request).length;
    const { text } = answer.failure;
    return broken(`${call}: tried ${tries} times, the last time ${answer.failure.class}: ${text}`);
  }
  const again = calls.length - last.size;
  return kept(`${calls.length} calls${again === 0 ? "" : `, ${again} of them retries`}`);
}

function secret(transcript: Transcript): Finding {
  const call = callsOf(transcript, "list").find(({ by }) => by === "stranger");
  if (call === undefined) return unclear("the call was not made");
  if (call.answer.kind === "listed") return broken("a caller with a wrong secret got a listing");
  const { class: cls, text } = call.answer.failure;
  if (cls === "invalid" || cls === "auth") return kept(text);
  // While the provider refuses everybody, this refusal says nothing about the secret.
  if (listingsOf(transcript).length === 0) return unclear(text);
  return broken(`the refusal is ${cls}, so Drover would retry: ${text}`);
}

function whole(listings: readonly Listing[]): Finding {
  const partial = listings.find(({ answer }) => answer.partial !== undefined);
  return partial === undefined ? kept(countText(listings)) : broken(String(partial.answer.partial?.why));
}

/**
 * A machine that is in two listings must be in every listing between them. An incomplete listing may omit
 * the machines of the zones that it names, and without names any machine.
 */
function steady(listings: readonly Listing[]): Finding {
  const shownAt = new Map<string, number>();
  for (const [at, { tag, answer }] of listings.entries()) {
    for (const { id, zone } of answer.items) {
      const before = shownAt.get(id) ?? at;
      const missed = listings
        .slice(before + 1, at)
        .some((between) => between.tag === tag && mustShow(between, zone));
      if (missed) return broken(`${id} was missing from a listing between two that show it`);
      shownAt.set(id, at);
    }
  }
  return kept(countText(listings));
}

function mustShow({ answer: { partial } }: Listing, zone: string | undefined): boolean {
  if (partial === undefined) return true;
  return partial.zones !== undefined && zone !== undefined && !partial.zones.includes(zone);
}

function fixed(listings: readonly Listing[]): Finding {
  const known = new Map<string, Instance>();
  for (const instance of listings.flatMap(({ answer }) => answer.items)) {
    const before = known.get(instance.id) ?? instance;
    for (const field of ["name", "instanceType", "createdAt"] as const) {
      if (before[field] === instance[field]) continue;
      return broken(`${field} of ${instance.id} was ${before[field]}, then ${instance[field]}`);
    }
    if (Number.isNaN(Date.parse(instance.createdAt))) {
      return broken(`createdAt of ${instance.id} is not a time: ${instance.createdAt}`);
    }
    known.set(instance.id, instance);
  }
  return kept(`${known.size} machines`);
}

function tagged(listings: readonly Listing[]): Finding {
  const [foreign] = listings.flatMap(({ tag, answer }) => answer.items.filter((one) => !carries(one, tag)));
  return foreign === undefined
    ? kept(countText(listings))
    : broken(`${foreign.id} is listed without the requested tag`);
}

function destroyMissing(transcript: Transcript): Finding {
  const { missingId } = transcript;
  const call = callsOf(transcript, "destroy").findLast(({ instance }) => instance === missingId);
  if (call === undefined) return unclear("the call was not made");
  if (call.answer.kind === "asked") return kept(call.answer.unknown ? "404" : "200");
  const { failure } = call.answer;
  return isPassing(failure) ? unclear(failure.text) : broken(failure.text);
}

function countText(listings: readonly Listing[]): string {
  const most = Math.max(...listings.map(({ answer }) => answer.items.length));
  return `${listings.length} listings, of up to ${most} machines`;
}

function carries({ tags }: Instance, tag: string): boolean {
  const colon = tag.indexOf(":");
  return tags[tag.slice(0, colon)] === tag.slice(colon + 1);
}
