import type { Instance } from "../../schema/provider.ts";
import { broken, type Check, type Finding, kept, unclear } from "./finding.ts";
import { type Call, callsOf, isPassing, type Listing, listingsOf, type Transcript } from "./transcript.ts";

const CONTRACT = "host-protocol.md#provider-contract";

/** What is judged without creating anything. */
export const LOOK_CHECKS: readonly Check[] = [
  {
    name: "answers",
    rule: "cases.md#case-20; host-protocol.md#provider-errors",
    promise: "a call is answered as agreed, or is by the time that its refusal names",
    judge: answers,
  },
  {
    name: "secret",
    rule: CONTRACT,
    promise: "who has another secret is refused, for good",
    judge: secret,
  },
  {
    name: "list-whole",
    rule: `${CONTRACT}; cases.md#case-19`,
    promise: "a listing is complete, whatever its pages",
    judge: (transcript) =>
      ofListings(transcript, (listings) => {
        const partial = listings.find(({ answer }) => answer.partial !== undefined);
        return partial === undefined ? kept(counted(listings)) : broken(String(partial.answer.partial));
      }),
  },
  {
    name: "list-steady",
    rule: "cases.md#case-4; rules.md#invariant-3",
    promise: "what exists is in each listing",
    judge: (transcript) => ofListings(transcript, steady),
  },
  {
    name: "list-fixed",
    rule: "pool.md#provider-ids",
    promise: "name, type and time of creation of a machine never change",
    judge: (transcript) => ofListings(transcript, fixed),
  },
  {
    name: "list-tag",
    rule: CONTRACT,
    promise: "a listing has what carries the tag, and nothing else",
    judge: (transcript) =>
      ofListings(transcript, (listings) => {
        const foreign = listings.flatMap(({ tag, answer }) =>
          answer.items.filter((one) => !carries(one, tag)),
        );
        const [first] = foreign;
        return first === undefined
          ? kept(counted(listings))
          : broken(`${first.id} is listed without the tag that was asked for`);
      }),
  },
  {
    name: "destroy-nobody",
    rule: `${CONTRACT} (200 or 404)`,
    promise: "the end of a machine that is not there can be asked for",
    judge: destroyNobody,
  },
];

function answers({ calls }: Transcript): Finding {
  if (calls.length === 0) return unclear("nothing was asked");
  const last = new Map<number, Call>();
  for (const call of calls) last.set(call.wish, call);
  for (const { wish, call, answer } of last.values()) {
    if (answer.kind !== "failed" || !isPassing(answer.failure)) continue;
    const tries = calls.filter((other) => other.wish === wish).length;
    const { text } = answer.failure;
    return broken(`${call}: tried ${tries} times, at last ${answer.failure.class}: ${text}`);
  }
  const again = calls.length - last.size;
  return kept(`${calls.length} calls${again === 0 ? "" : `, ${again} of them put off`}`);
}

function secret(transcript: Transcript): Finding {
  const call = callsOf(transcript, "list").find(({ by }) => by === "stranger");
  if (call === undefined) return unclear("it was not asked");
  if (call.answer.kind === "listed") return broken("a listing was given to who has a wrong secret");
  const { class: cls, text } = call.answer.failure;
  if (cls === "invalid") return kept(text);
  // A storm says nothing about secrets.
  if (listingsOf(transcript).length === 0) return unclear(text);
  return broken(`the refusal is ${cls}, so that it would be asked again: ${text}`);
}

/** In one listing and in a later one, and not in one between: it existed all the time. */
function steady(listings: readonly Listing[]): Finding {
  const shownAt = new Map<string, number>();
  for (const [at, { tag, answer }] of listings.entries()) {
    for (const { id } of answer.items) {
      const before = shownAt.get(id) ?? at;
      const missed = listings
        .slice(before + 1, at)
        .some((between) => between.tag === tag && between.answer.partial === undefined);
      if (missed) return broken(`${id} was missing from a listing between two that have it`);
      shownAt.set(id, at);
    }
  }
  return kept(counted(listings));
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
      return broken(`createdAt of ${instance.id} is no time: ${instance.createdAt}`);
    }
    known.set(instance.id, instance);
  }
  return kept(`${known.size} machines`);
}

function destroyNobody(transcript: Transcript): Finding {
  const { nobody } = transcript;
  const call = callsOf(transcript, "destroy").findLast(({ instance }) => instance === nobody);
  if (call === undefined) return unclear("it was not asked");
  if (call.answer.kind === "asked") return kept(call.answer.unknown ? "404" : "200");
  const { failure } = call.answer;
  return isPassing(failure) ? unclear(failure.text) : broken(failure.text);
}

function ofListings(transcript: Transcript, judge: (listings: readonly Listing[]) => Finding): Finding {
  const listings = listingsOf(transcript);
  return listings.length === 0 ? unclear("no listing was answered") : judge(listings);
}

function counted(listings: readonly Listing[]): string {
  const most = Math.max(...listings.map(({ answer }) => answer.items.length));
  return `${listings.length} listings, of up to ${most} machines`;
}

function carries({ tags }: Instance, tag: string): boolean {
  const colon = tag.indexOf(":");
  return tags[tag.slice(0, colon)] === tag.slice(colon + 1);
}
