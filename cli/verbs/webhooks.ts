// `drover webhooks`: creates, lists, changes, tests and removes endpoints, and shows what they were sent.
import type { Command } from "commander";
import type { NewWebhook, Webhook, WebhookDelivery, WebhookType } from "../../client/types.ts";
import { nameIn } from "../../src/shared/access/project.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { DELIVERY_STATES, type DeliveryState, WEBHOOK_TYPES } from "../../src/shared/webhooks/words.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { duration, pair, positiveDuration, several, wholeNumber, words } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";

const CREATE_HELP = `
Prints the secret by which the receiver verifies events. docs/webhooks.md has a receiver.

Examples:
  drover webhooks create https://ci.example.com/drover --name ci
  drover webhooks create https://chat.example.com/hook --name alarms --types run.failed,run.timedout
  drover webhooks create https://x.example.com/hook --name team-x --pool gpus --label team=x`;

const REPLAY_HELP = `
Events keep their ids and their bytes, so that the receiver can tell doubles.

Examples:
  drover webhooks replay ci msg_wh-0123456789abcdef_7
  drover webhooks replay ci --since 2h         # those that were not delivered
  drover webhooks replay ci --since 2h --all   # also those that were`;

const ENABLE_HELP = `
Examples:
  drover webhooks enable ci             # goes on where it stopped
  drover webhooks enable ci --from now
  drover webhooks enable ci --from 2d   # with what has ended in the last two days`;

interface CreateFlags {
  name: string;
  types?: WebhookType[];
  pool?: string[];
  label?: Record<string, string>;
  json?: boolean;
}

/** `drover webhooks`: endpoints to which Drover sends events, and their deliveries. */
export function addWebhooks(program: Command, io: Io, exitWith: (code: number) => void): void {
  const webhooks = program
    .command("webhooks")
    .summary("send events of runs to receivers of yours")
    .description(
      "Endpoints are told of the ends of runs, signed, and again for days if they do not answer with 2xx.",
    );
  addCreate(webhooks, io);
  addList(webhooks, io);
  addShow(webhooks, io);
  addRemove(webhooks, io);
  addTest(webhooks, io, exitWith);
  addDeliveries(webhooks, io);
  addReplay(webhooks, io);
  addEnable(webhooks, io);
  addDisable(webhooks, io);
  addRotate(webhooks, io);
}

function addCreate(webhooks: Command, io: Io): void {
  webhooks
    .command("create")
    .summary("create an endpoint, and print its secret")
    .description("Creates an endpoint, and prints its secret. Nothing else ever shows it again.")
    .argument("<url>", "where the events are sent: https, port 443 or 8443, a public name")
    .requiredOption("--name <name>", "the endpoint's name")
    .option(
      "--types <types>",
      `which events (default: every end of a run): ${WEBHOOK_TYPES.join(", ")}`,
      typesOf,
    )
    .option("--pool <name>", "only runs of this pool (repeatable)", several)
    .option("--label <name=value>", "only runs with this label (repeatable)", pair)
    .option("--json", "print JSON")
    .addHelpText("after", CREATE_HELP)
    .action(async (url: string, { name, types, pool: pools, label: labels, json }: CreateFlags) => {
      const { client } = connect(io);
      await show(io, await client.webhooks.create({ name, url, types, pools, labels }), json);
    });
}

/** Types that are separated by commas, or given by several flags. */
function typesOf(text: string, before: WebhookType[] = []): WebhookType[] {
  return text.split(",").reduce((types, one) => words(WEBHOOK_TYPES)(one.trim(), types), before);
}

function addList(webhooks: Command, io: Io): void {
  webhooks
    .command("list")
    .summary("list endpoints")
    .description("Lists the endpoints with their states, without their secrets.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { items } = await connect(io).client.webhooks.list();
      await io.stdout.write(json === true ? `${asJson(items)}\n` : listView(items, io));
    });
}

function listView(webhooks: readonly Webhook[], io: Io): string {
  const headings = ["NAME", "STATE", "WAITING", "URL", "TYPES", "ONLY", "WHY"];
  const rows = webhooks.map((one) => [
    nameIn(one.project, one.name, "/"),
    whyOf(one) === "" ? one.state : { failed: one.state },
    String(one.waiting ?? ""),
    one.url,
    one.types.join(" "),
    [...(one.pools ?? []).map((pool) => `pool ${pool}`), ...labelsOf(one)].join(", "),
    reasonOf(one),
  ]);
  const empty = "No webhooks. Create one: drover webhooks create https://ci.example.com/drover --name ci";
  return listText(io, headings, rows, empty);
}

/** Why an endpoint is in its state, and what it has missed. */
function reasonOf(one: Webhook): string {
  const { gap } = one;
  const missed = gap === null ? "" : `${gap.runs} ends missed, the latest noticed at ${gap.at}`;
  return [whyOf(one), missed].filter((text) => text !== "").join("; ");
}

/** Why an endpoint is in its state. Empty: nothing is wrong. */
function whyOf({ unknown, disabled, unsigned, failing }: Webhook): string {
  return unknown?.text ?? disabled?.text ?? unsigned?.text ?? failing?.text ?? "";
}

function addShow(webhooks: Command, io: Io): void {
  webhooks
    .command("show")
    .summary("show an endpoint: its state and why, and what it has missed")
    .description("Shows an endpoint: what it receives, its state and why, and what it has missed.")
    .argument("<webhook>", "its name")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: { json?: boolean }) => {
      const webhook = await connect(io).client.webhooks.get(name);
      await io.stdout.write(json === true ? `${asJson(webhook)}\n` : showView(webhook));
    });
}

function showView(one: Webhook): string {
  const { disabled, unsigned, failing, gap } = one;
  const all: [string, string | undefined][] = [
    ["name", one.name],
    ["url", one.url],
    ["types", one.types.join(" ")],
    ["pools", one.pools?.join(" ") ?? "all"],
    ["labels", labelsOf(one).join(" ")],
    ["state", one.state],
    ["why", whyOf(one)],
    ["since", disabled?.at ?? unsigned?.since ?? failing?.since],
    ["secret tried", disabled === null ? unsigned?.nextAt : undefined],
    ["paused until", one.pausedUntil ?? undefined],
    ["waiting", one.waiting === null ? undefined : `${one.waiting} deliveries`],
    ["unread", one.behind.join(" ")],
    ["missed", gap === null ? "" : `${gap.runs} ends, since their runs were deleted before they were read`],
    ["noticed", gap?.at],
    ["created", `${one.createdAt} by ${one.createdBy}`],
  ];
  const shown = all.filter(([, text]) => text !== undefined && text !== "");
  return shown.map(([label, text = ""]) => `${label.padEnd(12)} ${printable(text)}\n`).join("");
}

function labelsOf({ labels }: Webhook): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

function addRemove(webhooks: Command, io: Io): void {
  webhooks
    .command("rm")
    .summary("delete an endpoint with its deliveries")
    .description("Deletes an endpoint with its deliveries. An attempt that is on its way arrives.")
    .argument("<webhook>", "its name")
    .action(async (name: string) => {
      await connect(io).client.webhooks.delete(name);
      await io.say(`the webhook ${name} is deleted`);
    });
}

function addTest(webhooks: Command, io: Io, exitWith: (code: number) => void): void {
  webhooks
    .command("test")
    .summary("send a test event, and say what came of it")
    .description("Sends one event of the type webhook.test, once. The exit code is 1 if it was not accepted.")
    .argument("<webhook>", "its name")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: { json?: boolean }) => {
      const delivery = await connect(io).client.webhooks.test(name);
      await io.stdout.write(json === true ? `${asJson(delivery)}\n` : `${printable(outcomeOf(delivery))}\n`);
      if (delivery.state !== "delivered") exitWith(1);
    });
}

function outcomeOf({ state, last }: WebhookDelivery): string {
  if (last === null) return "the attempt is not over yet";
  const took = `in ${last.durationMs} ms`;
  return state === "delivered" ? `delivered ${took}: ${last.status}` : (last.problem ?? `refused ${took}`);
}

function addDeliveries(webhooks: Command, io: Io): void {
  webhooks
    .command("deliveries")
    .summary("list what an endpoint was sent")
    .description("Lists the deliveries of the last 30 days, newest first, each with its latest attempt.")
    .argument("<webhook>", "its name")
    .option(
      "--state <state>",
      `only these (repeatable): ${DELIVERY_STATES.join(", ")}`,
      words(DELIVERY_STATES),
    )
    .option("--limit <n>", "how many at most (default: 20)", wholeNumber(1, 1_000))
    .option("--json", "print JSON")
    .action(async (name: string, flags: { state?: DeliveryState[]; limit?: number; json?: boolean }) => {
      const { state, limit = 20, json } = flags;
      const { items } = await connect(io).client.webhooks.deliveries(name, { state, limit });
      await io.stdout.write(json === true ? `${asJson(items)}\n` : deliveriesView(items, io));
    });
}

function deliveriesView(deliveries: readonly WebhookDelivery[], io: Io): string {
  const headings = ["ID", "TYPE", "RUN", "STATE", "TRIES", "STATUS", "MS", "NEXT", "PROBLEM"];
  const rows = deliveries.map(({ id, type, run, state, tries, last, nextAt }) => [
    id,
    type,
    run ?? "",
    state === "failed" ? { failed: state } : state,
    String(tries),
    String(last?.status ?? ""),
    String(last?.durationMs ?? ""),
    nextAt ?? "",
    last?.problem ?? "",
  ]);
  return listText(io, headings, rows, "No deliveries yet. Try it: drover webhooks test NAME");
}

function addReplay(webhooks: Command, io: Io): void {
  webhooks
    .command("replay")
    .summary("send events again: some by id, or those of a range of time")
    .description("Sends events again: those that are named, or those that were made in a range of time.")
    .argument("<webhook>", "its name")
    .argument("[delivery...]", "ids, as `drover webhooks deliveries` shows them")
    .option("--since <duration>", "those that were made at most this long ago", positiveDuration)
    .option("--until <duration>", "and at least this long ago", positiveDuration)
    .option("--all", "in the range, also those that were delivered")
    .addHelpText("after", REPLAY_HELP)
    .action(async (name: string, ids: string[], flags: { since?: string; until?: string; all?: boolean }) => {
      const { client } = connect(io);
      const ago = (text: string | undefined) =>
        text === undefined ? undefined : new Date(client.now() - durationMs(text)).toISOString();
      const range = { since: ago(flags.since), until: ago(flags.until), all: flags.all };
      const { replayed } = await client.webhooks.replay(name, ids.length > 0 ? { ...range, ids } : range);
      await io.say(replayed === null ? "the range is sent again" : `${replayed} sent again`);
    });
}

function addEnable(webhooks: Command, io: Io): void {
  webhooks
    .command("enable")
    .summary("send to an endpoint again")
    .description("Enables an endpoint, and tries at once what waits.")
    .argument("<webhook>", "its name")
    .option("--from <when>", "where it goes on: last (default), now, or a duration: this long ago")
    .addHelpText("after", ENABLE_HELP)
    .action(async (name: string, { from }: { from?: string }) => {
      await connect(io).client.webhooks.enable(name, { from });
      await io.say(`the webhook ${name} is enabled`);
    });
}

function addDisable(webhooks: Command, io: Io): void {
  webhooks
    .command("disable")
    .summary("send nothing more to an endpoint, until it is enabled")
    .description("Disables an endpoint. What ends meanwhile is sent when it is enabled.")
    .argument("<webhook>", "its name")
    .action(async (name: string) => {
      await connect(io).client.webhooks.disable(name);
      await io.say(`the webhook ${name} is disabled`);
    });
}

function addRotate(webhooks: Command, io: Io): void {
  webhooks
    .command("rotate")
    .summary("give an endpoint another secret")
    .description("Gives an endpoint another secret, and prints it. During the overlap both secrets sign.")
    .argument("<webhook>", "its name")
    .option("--overlap <duration>", "how long the old secret signs as well (default: 24h)", duration)
    .option("--json", "print JSON")
    .action(async (name: string, { overlap, json }: { overlap?: string; json?: boolean }) => {
      const { client } = connect(io);
      await show(io, await client.webhooks.rotate(name, { overlap }), json);
    });
}

/** Prints a secret: alone on stdout, so that a script can take it. */
async function show(io: Io, webhook: NewWebhook, json = false): Promise<void> {
  await io.stdout.write(json ? `${asJson(webhook)}\n` : `${webhook.secret}\n`);
  if (!json && io.stdout.isTerminal) await io.say("nothing shows this secret again: store it now");
}
