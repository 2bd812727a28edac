// Which promises are judged by the life of one machine?
import type { CreateAnswer } from "../../src/core/provider-answers.ts";
import type { CreateInstance, Instance } from "../../src/schema/provider.ts";
import { broken, type Check, type Finding, kept, unclear } from "./finding.ts";
import {
  callsOf,
  createdBy,
  isAlive,
  isPassing,
  listingsOf,
  madeMachine,
  type Transcript,
} from "./transcript.ts";

const CONTRACT = "host-protocol.md#provider-contract";

/** What a transcript shows of its machine. */
interface Life {
  transcript: Transcript;
  wanted: CreateInstance;
  id: string;
  /** When the create call was answered, or a listing first showed the machine. */
  madeAt: number;
  /** The complete listings that began after `madeAt`, and the machine in each. */
  looks: { beganAt: number; shown: Instance | undefined }[];
  /** The destroy calls that were answered. */
  destroys: { endedAt: number; unknown: boolean }[];
}

/** The promises that are judged by the life of one machine. */
export const MACHINE_CHECKS: readonly Check[] = [
  {
    name: "create-refused",
    rule: `${CONTRACT}; host-protocol.md#provider-errors`,
    promise: "a create call that is refused makes no machine, then or later",
    judge: createRefused,
  },
  {
    name: "create-answered",
    rule: "cases.md#case-1, cases.md#case-2",
    promise: "a create call that creates a machine returns it",
    judge: createAnswered,
  },
  {
    name: "create-once",
    rule: `${CONTRACT} (idempotent); cases.md#case-1`,
    promise: "the same token returns the same machine, even after its end",
    judge: byMachine(createOnce),
  },
  {
    name: "create-bound",
    rule: `${CONTRACT} (idempotent); clouds.md#same-bytes`,
    promise: "another request with the same token makes no other machine",
    judge: byMachine(createBound),
  },
  {
    name: "create-as-asked",
    rule: `${CONTRACT} (tags are set in the create call)`,
    promise: "a machine has the requested name, type and tags",
    judge: byMachine(asAsked),
  },
  {
    name: "list-in-time",
    rule: "host-protocol.md#capabilities (listConsistencyMs)",
    promise: "a new machine is listed within the agreed time",
    judge: byMachine(listedInTime),
  },
  {
    name: "boots",
    rule: "pool.md#provider-boots",
    promise: "a new machine reaches the state `running`",
    judge: byMachine(boots),
  },
  {
    name: "destroy-known",
    rule: "cases.md#case-3",
    promise: "a destroy call answers 404 only for a machine that does not exist",
    judge: byMachine(destroyKnown),
  },
  {
    name: "destroy-heeded",
    rule: CONTRACT,
    promise: "a destroy call that is accepted has an effect",
    judge: byMachine(destroyHeeded),
  },
  {
    name: "destroy-ends",
    rule: "pool.md#provider-ends",
    promise: "a machine that is being destroyed ends",
    judge: byMachine(destroyEnds),
  },
];

/** Judges a transcript by the life of its machine, if one was created. */
function byMachine(judge: (life: Life) => Finding): Check["judge"] {
  return (transcript) => {
    const { wanted } = transcript;
    const made = madeMachine(transcript);
    if (wanted === null || made === undefined) return unclear("no machine was created");
    const { instance, at } = made;
    const looks = listingsOf(transcript, transcript.ownTag)
      .filter(({ beganAt, answer }) => beganAt >= at && answer.partial === undefined)
      .map(({ beganAt, answer }) => ({ beganAt, shown: answer.items.find(({ id }) => id === instance.id) }));
    const destroys = callsOf(transcript, "destroy").flatMap(({ instance: id, endedAt, answer }) =>
      id === instance.id && answer.kind === "asked" ? [{ endedAt, unknown: answer.unknown === true }] : [],
    );
    return judge({ transcript, wanted, id: instance.id, madeAt: at, looks, destroys });
  };
}

/**
 * A type that does not exist is refused, or the provider accepts any type. The machine of the test comes
 * next, with another token: `create-answered` shows whether the refusal stands in its way.
 */
function createRefused(transcript: Transcript): Finding {
  const answer = callsOf(transcript, "create").findLast(({ other }) => other === "type")?.answer;
  if (answer === undefined || answer.kind === "pending") return unclear("no such call was answered");
  if (answer.kind === "created") return kept("the provider accepts any type");
  const { class: cls, text } = answer.failure;
  const shown = listingsOf(transcript, transcript.ownTag).flatMap((listing) => listing.answer.items);
  const ghost = shown.find(({ name }) => name === `${transcript.wanted?.name}-no`);
  if (ghost !== undefined) return broken(`${ghost.id} was made by a call that was refused: ${text}`);
  return isPassing(answer.failure) ? unclear(`${cls}: ${text}`) : kept(`${cls}: ${text}`);
}

/**
 * If the first create call failed, the listings before the next call show whether it created a machine after
 * all.
 */
function createAnswered(transcript: Transcript): Finding {
  const { calls, wanted } = transcript;
  const creates = callsOf(transcript, "create").filter(({ other }) => other !== "type");
  const made = madeMachine(transcript);
  const first = creates.find(({ answer }) => answer.kind !== "pending");
  if (first === undefined || first.answer.kind === "pending") return unclear("no create call was answered");
  if (first.answer.kind === "created") return kept(`${first.answer.instance.id} was made`);
  const { failure } = first.answer;
  const after = creates[creates.indexOf(first) + 1];
  const next = after === undefined ? calls.length : calls.indexOf(after);
  const between = { ...transcript, calls: calls.slice(0, next) };
  const shown = listingsOf(between).flatMap(({ answer }) => answer.items);
  const ghost = shown.find(({ name }) => name === wanted?.name);
  if (ghost !== undefined) return broken(`${ghost.id} was made by a call that failed: ${failure.text}`);
  const why = `${failure.class}: ${failure.text}`;
  return made === undefined ? unclear(why) : kept(`${made.instance.id} was made, after ${why}`);
}

function createOnce({ transcript, wanted, id }: Life): Finding {
  const others = new Set(otherRequests(transcript).flatMap(({ answer }) => idsIn(answer)));
  const answered = plainIds(transcript);
  const listed = listingsOf(transcript, transcript.ownTag).flatMap(({ answer }) => answer.items);
  const named = listed.filter((one) => one.name === wanted.name && (one.id === id || !others.has(one.id)));
  const ids = new Set([...answered, ...named.map((instance) => instance.id)]);
  if (ids.size > 1) return broken(`one token made ${[...ids].join(" and ")}`);
  return answered.length < 2
    ? unclear("there was only one call")
    : kept(`${answered.length} calls made ${id}`);
}

/** A provider may answer with the machine that it has, or refuse the request. */
function createBound({ transcript, id }: Life): Finding {
  const answer = otherRequests(transcript).at(-1)?.answer;
  if (answer === undefined || answer.kind === "pending") return unclear("no such request was answered");
  if (answer.kind === "failed") {
    const { class: cls, text } = answer.failure;
    return isPassing(answer.failure) ? unclear(`${cls}: ${text}`) : kept(`it was refused: ${text}`);
  }
  const other = answer.instance.id;
  return other === id || plainIds(transcript).includes(other)
    ? kept(`it was answered with ${other}`)
    : broken(`it made ${other} beside ${id}`);
}

function otherRequests(transcript: Transcript) {
  return callsOf(transcript, "create").filter(({ other }) => other === "request");
}

/** The machines with which the test's own requests were answered, one for each answer. */
function plainIds(transcript: Transcript): string[] {
  return callsOf(transcript, "create").flatMap((call) => (call.other ? [] : idsIn(call.answer)));
}

function idsIn(answer: CreateAnswer): string[] {
  return answer.kind === "created" ? [answer.instance.id] : [];
}

function asAsked({ transcript, wanted, id }: Life): Finding {
  const listed = listingsOf(transcript).flatMap(({ answer }) => answer.items);
  for (const instance of [...createdBy(transcript), ...listed].filter((one) => one.id === id)) {
    if (instance.name !== wanted.name) return broken(`the name is "${instance.name}"`);
    if (instance.instanceType !== wanted.instanceType)
      return broken(`its type is "${instance.instanceType}"`);
    const lost = Object.entries(wanted.tags).find(([name, value]) => instance.tags[name] !== value);
    if (lost !== undefined) return broken(`it lacks the tag ${lost.join(":")}`);
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
    return broken(`${id} was listed ${when}, but ${ms(consistencyMs)} are agreed`);
  }
  return shownAt === undefined
    ? unclear("there was no listing")
    : kept(`after ${ms(shownAt - madeAt)} at the latest`);
}

function boots({ transcript, madeAt, looks }: Life): Finding {
  const seen = looks.filter(({ shown }) => shown !== undefined);
  const running = seen.find(({ shown }) => shown?.state === "running");
  if (running !== undefined) return kept(`after ${ms(running.beganAt - madeAt)} at the latest`);
  const last = seen.at(-1);
  if (last === undefined) return unclear("it was never listed");
  return broken(`after ${ms(transcript.patience.bootMs)} its state was ${last.shown?.state}, not running`);
}

function destroyKnown({ looks, destroys, id }: Life): Finding {
  if (destroys.length === 0) return unclear("no destroy call was made");
  for (const { endedAt, unknown } of destroys) {
    const next = destroys.find((other) => other.endedAt > endedAt)?.endedAt ?? Infinity;
    const lives = looks.some(
      ({ beganAt, shown }) => beganAt >= endedAt && beganAt < next && shown !== undefined && isAlive(shown),
    );
    if (unknown && lives) return broken(`a destroy call answered 404, but a later listing has ${id}`);
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
  return lives ? broken(`${id} still runs ${ms(heedMs)} after the destroy call`) : kept(`${id} is ending`);
}

function destroyEnds({ transcript, looks, destroys, id }: Life): Finding {
  const ending = looks.filter(({ shown }) => shown?.state === "stopping" || shown?.state === "stopped");
  const [first] = destroys;
  if (first === undefined) return unclear("no destroy call was made");
  const { endMs } = transcript.patience;
  const stuck = ending.find(({ beganAt }) => beganAt - first.endedAt >= endMs);
  if (stuck !== undefined) return broken(`${id} is still ${stuck.shown?.state} after ${ms(endMs)}`);
  const after = looks.filter(({ beganAt }) => beganAt >= first.endedAt);
  const gone = after.find(({ shown }) => shown === undefined || !isAlive(shown));
  return gone === undefined
    ? unclear("no listing shows its end")
    : kept(`it was ${gone.shown?.state ?? "no longer listed"} after ${ms(gone.beganAt - first.endedAt)}`);
}

function ms(length: number): string {
  return `${Math.round(length)} ms`;
}
