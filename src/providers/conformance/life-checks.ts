import type { CreateInstance, Instance } from "../../schema/provider.ts";
import { broken, type Check, type Finding, kept, unclear } from "./finding.ts";
import { callsOf, isAlive, type Listing, listingsOf, madeMachine, type Transcript } from "./transcript.ts";

const CONTRACT = "host-protocol.md#provider-contract";

/** What is known of the one machine of a transcript. */
interface Life {
  transcript: Transcript;
  wanted: CreateInstance;
  id: string;
  /** When its creation was answered or seen. */
  madeAt: number;
  /** Listings that began after that, and what they show of it. */
  looks: { beganAt: number; listing: Listing; shown: Instance | undefined }[];
  /** When its end was asked for: each time, and the first that was heard. */
  destroys: { endedAt: number; unknown: boolean }[];
}

/** What is judged by the life of one machine. */
export const LIFE_CHECKS: readonly Check[] = [
  {
    name: "create-answered",
    rule: "cases.md#case-1, cases.md#case-2",
    promise: "a create call that makes a machine says so",
    judge: createAnswered,
  },
  {
    name: "create-once",
    rule: `${CONTRACT} (idempotent); cases.md#case-1`,
    promise: "the same token gives the same machine, while it lives and after",
    judge: (transcript) => ofLife(transcript, createOnce),
  },
  {
    name: "create-as-asked",
    rule: `${CONTRACT} (tags are set in the create call)`,
    promise: "a machine has the name, the type and the tags that it was asked for with",
    judge: (transcript) => ofLife(transcript, asAsked),
  },
  {
    name: "list-in-time",
    rule: "host-protocol.md#capabilities (listConsistencyMs)",
    promise: "a new machine is in the listings as soon as agreed",
    judge: (transcript) => ofLife(transcript, listedInTime),
  },
  {
    name: "boots",
    rule: "pool.md#provider-boots",
    promise: "a new machine comes to run",
    judge: (transcript) => ofLife(transcript, boots),
  },
  {
    name: "destroy-known",
    rule: "cases.md#case-3",
    promise: "no machine that lives is said not to be there",
    judge: (transcript) => ofLife(transcript, destroyKnown),
  },
  {
    name: "destroy-heeded",
    rule: CONTRACT,
    promise: "a destroy call that is answered begins the end",
    judge: (transcript) => ofLife(transcript, destroyHeeded),
  },
  {
    name: "destroy-ends",
    rule: "pool.md#provider-ends",
    promise: "a machine that is ending ends",
    judge: (transcript) => ofLife(transcript, destroyEnds),
  },
];

function ofLife(transcript: Transcript, judge: (life: Life) => Finding): Finding {
  const { wanted } = transcript;
  const made = madeMachine(transcript);
  if (wanted === null || made === undefined) return unclear("there was no machine to judge by");
  const { instance, at } = made;
  const looks = listingsOf(transcript, transcript.ownTag)
    .filter(({ beganAt, answer }) => beganAt >= at && answer.partial === undefined)
    .map((listing) => ({
      beganAt: listing.beganAt,
      listing,
      shown: listing.answer.items.find(({ id }) => id === instance.id),
    }));
  const destroys = callsOf(transcript, "destroy").flatMap(({ instance: id, endedAt, answer }) =>
    id === instance.id && answer.kind === "asked" ? [{ endedAt, unknown: answer.unknown === true }] : [],
  );
  return judge({ transcript, wanted, id: instance.id, madeAt: at, looks, destroys });
}

/** A call that failed is judged by the listings before the next one: did it make a machine all the same? */
function createAnswered(transcript: Transcript): Finding {
  const { calls, wanted } = transcript;
  const creates = callsOf(transcript, "create");
  const made = madeMachine(transcript);
  const [first] = creates;
  if (first === undefined) return unclear("it was not asked");
  if (first.answer.kind === "created") return kept(`${first.answer.instance.id} was made`);
  const { failure } = first.answer;
  const next = creates[1] === undefined ? calls.length : calls.indexOf(creates[1]);
  const between = { ...transcript, calls: calls.slice(0, next) };
  const shown = listingsOf(between).flatMap(({ answer }) => answer.items);
  const ghost = shown.find(({ name }) => name === wanted?.name);
  if (ghost !== undefined) return broken(`${ghost.id} was made by a call that failed: ${failure.text}`);
  const why = `${failure.class}: ${failure.text}`;
  return made === undefined ? unclear(why) : kept(`${made.instance.id} was made, after ${why}`);
}

function createOnce({ transcript, wanted, id }: Life): Finding {
  const answered = callsOf(transcript, "create").flatMap(({ answer }) =>
    answer.kind === "created" ? [answer.instance] : [],
  );
  const listed = listingsOf(transcript, transcript.ownTag).flatMap(({ answer }) => answer.items);
  const named = [...answered, ...listed.filter(({ name }) => name === wanted.name)];
  const ids = new Set(named.map((instance) => instance.id));
  if (ids.size > 1) return broken(`one token made ${[...ids].join(" and ")}`);
  return answered.length < 2 ? unclear("it was asked once") : kept(`${answered.length} calls made ${id}`);
}

function asAsked({ transcript, wanted, id }: Life): Finding {
  const answered = callsOf(transcript, "create").flatMap(({ answer }) =>
    answer.kind === "created" ? [answer.instance] : [],
  );
  const listed = listingsOf(transcript).flatMap(({ answer }) => answer.items);
  for (const instance of [...answered, ...listed].filter((one) => one.id === id)) {
    if (instance.name !== wanted.name) return broken(`the name is "${instance.name}"`);
    if (instance.instanceType !== wanted.instanceType)
      return broken(`its type is "${instance.instanceType}"`);
    const lost = Object.entries(wanted.tags).find(([name, value]) => instance.tags[name] !== value);
    if (lost !== undefined) return broken(`it has not the tag ${lost.join(":")}`);
  }
  return kept(`${id} is ${wanted.instanceType}`);
}

function listedInTime({ transcript, id, madeAt, looks }: Life): Finding {
  const { consistencyMs } = transcript;
  const shownAt = looks.find(({ shown }) => shown !== undefined)?.beganAt;
  const late = looks.find(
    ({ beganAt, shown }) =>
      shown === undefined &&
      beganAt - madeAt >= consistencyMs &&
      (shownAt === undefined || beganAt < shownAt),
  );
  if (late !== undefined) {
    const when = shownAt === undefined ? "never" : `after ${ms(shownAt - madeAt)}`;
    return broken(`${id} was listed ${when}, and ${ms(consistencyMs)} are agreed`);
  }
  return shownAt === undefined
    ? unclear("nobody looked")
    : kept(`after ${ms(shownAt - madeAt)} at the latest`);
}

function boots({ transcript, madeAt, looks }: Life): Finding {
  const seen = looks.filter(({ shown }) => shown !== undefined);
  const running = seen.find(({ shown }) => shown?.state === "running");
  if (running !== undefined) return kept(`after ${ms(running.beganAt - madeAt)} at the latest`);
  const last = seen.at(-1);
  if (last === undefined) return unclear("it was never listed");
  return broken(`within ${ms(transcript.patience.bootMs)} it was not seen to run, but ${last.shown?.state}`);
}

function destroyKnown({ looks, destroys, id }: Life): Finding {
  if (destroys.length === 0) return unclear("its end was not asked for");
  for (const { endedAt, unknown } of destroys) {
    const next = destroys.find((other) => other.endedAt > endedAt)?.endedAt ?? Infinity;
    const lives = looks.some(
      ({ beganAt, shown }) => beganAt >= endedAt && beganAt < next && shown !== undefined && isAlive(shown),
    );
    if (unknown && lives) return broken(`${id} was said not to be there, and is listed afterwards`);
  }
  return kept(`${destroys.length} calls`);
}

function destroyHeeded({ transcript, looks, destroys, id }: Life): Finding {
  const heard = destroys.find(({ unknown }) => !unknown);
  if (heard === undefined) return unclear("no destroy call was accepted");
  const { heedMs } = transcript.patience;
  const lives = looks.some(
    ({ beganAt, shown }) =>
      beganAt - heard.endedAt >= heedMs && (shown?.state ?? "") in { pending: 0, running: 0 },
  );
  return lives ? broken(`${ms(heedMs)} after its end was asked for, ${id} goes on`) : kept(`${id} is ending`);
}

function destroyEnds({ transcript, looks, destroys, id }: Life): Finding {
  const ending = looks.filter(({ shown }) => shown?.state === "stopping" || shown?.state === "stopped");
  const [first] = destroys;
  if (first === undefined) return unclear("its end was not asked for");
  const { endMs } = transcript.patience;
  const stuck = ending.find(({ beganAt }) => beganAt - first.endedAt >= endMs);
  if (stuck !== undefined) return broken(`${id} is still ${stuck.shown?.state} after ${ms(endMs)}`);
  const after = looks.filter(({ beganAt }) => beganAt >= first.endedAt);
  const gone = after.find(({ shown }) => shown === undefined || !isAlive(shown));
  return gone === undefined
    ? unclear("its end was not seen")
    : kept(`it was ${gone.shown?.state ?? "listed no more"} after ${ms(gone.beganAt - first.endedAt)}`);
}

function ms(length: number): string {
  return `${Math.round(length)} ms`;
}
