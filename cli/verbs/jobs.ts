// `drover jobs`: lists, shows, pauses, resumes and removes jobs, and shows their next ticks.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { parkedText } from "../jobs/redrive.ts";
import { jobsText, jobText, ticksText } from "../jobs/views.ts";
import { wholeNumber } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";
import { addJobsApply } from "./jobs-apply.ts";
import { addJobsHistory } from "./jobs-history.ts";
import { addJobsRedrive } from "./jobs-redrive.ts";
import { addJobsTrigger } from "./jobs-trigger.ts";

const HELP = `
docs/jobs.md says what a job can do.

Examples:
  drover jobs apply nightly.json
  drover jobs next nightly
  drover jobs trigger nightly --param branch=main
  drover jobs history nightly --since 2d
  drover jobs redrive nightly --all`;

/** The most ticks that one answer has. */
const MAX_TICKS = 1_000;

/** `drover jobs`: work that is described once, and runs by a schedule or when it is triggered. */
export function addJobs(program: Command, io: Io, exitWith: (code: number) => void): void {
  const jobs = program
    .command("jobs")
    .summary("store, trigger and watch jobs: runs by a schedule, or with parameters")
    .description("A job is work that is described once. It runs by a schedule, or when it is triggered.")
    .addHelpText("after", HELP);
  addJobsApply(jobs, io);
  addList(jobs, io);
  addShow(jobs, io);
  addNext(jobs, io);
  addJobsTrigger(jobs, io, exitWith);
  addPause(jobs, io);
  addResume(jobs, io);
  addJobsHistory(jobs, io);
  addJobsRedrive(jobs, io, exitWith);
  addRemove(jobs, io);
}

function addList(jobs: Command, io: Io): void {
  jobs
    .command("list")
    .summary("list jobs")
    .description("Lists the jobs by name, each with its schedule and its next tick.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { items } = await connect(io).client.jobs.list();
      await io.stdout.write(json === true ? `${asJson(items)}\n` : jobsText(io, items));
    });
}

function addShow(jobs: Command, io: Io): void {
  jobs
    .command("show")
    .summary("show a job: what it runs, its parameters, its next ticks, and its parked runs")
    .description(
      "Shows a job: what it runs, its parameters, its schedule, its next ticks and its parked runs.",
    )
    .argument("<job>", "its name")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: { json?: boolean }) => {
      const { client } = connect(io);
      const job = await client.jobs.get(name);
      const text =
        json === true ? `${asJson(job)}\n` : jobText(io, job) + (await parkedText(io, client, job));
      await io.stdout.write(text);
    });
}

function addNext(jobs: Command, io: Io): void {
  jobs
    .command("next")
    .summary("show the next ticks of a job")
    .description(
      "Shows the next ticks of a job: in UTC, on the clocks of its zone, and the ids of their runs.",
    )
    .argument("<job>", "its name")
    .option("--count <number>", "how many (default: 10)", wholeNumber(1, MAX_TICKS))
    .option("--json", "print JSON")
    .action(async (name: string, { count, json }: { count?: number; json?: boolean }) => {
      const { client } = connect(io);
      const [{ items }, job] = await Promise.all([client.jobs.ticks(name, { count }), client.jobs.get(name)]);
      const empty = `The job ${printable(name)} has no tick to come.`;
      await io.stdout.write(json === true ? `${asJson(items)}\n` : ticksText(io, items, empty));
      if (job.paused !== null) {
        await io.say(`it is paused: no tick has a run before drover jobs resume ${printable(name)}`);
      }
    });
}

function addPause(jobs: Command, io: Io): void {
  jobs
    .command("pause")
    .summary("skip the ticks of a job until it is resumed")
    .description("Skips the ticks of a job until it is resumed. Its runs go on, and it can be triggered.")
    .argument("<job>", "its name")
    .action(async (name: string) => {
      await connect(io).client.jobs.pause(name);
      await io.say(`the job ${printable(name)} is paused`);
    });
}

const RESUME_HELP = `
Ticks count from now on: those of the pause stay skipped. With --make-up they count as
missed, and run as the fields missed and catchUp of the schedule say.

Examples:
  drover jobs resume nightly
  drover jobs resume nightly --make-up`;

function addResume(jobs: Command, io: Io): void {
  jobs
    .command("resume")
    .summary("end the pause of a job")
    .description("Ends the pause of a job.")
    .argument("<job>", "its name")
    .option("--make-up", "make up the ticks of the pause, as far as its schedule says so")
    .addHelpText("after", RESUME_HELP)
    .action(async (name: string, { makeUp }: { makeUp?: boolean }) => {
      const { next } = await connect(io).client.jobs.resume(name, { makeUp });
      const [first] = next;
      const when = first === undefined ? "" : `; its next tick is ${first.at}`;
      await io.say(`the job ${printable(name)} is resumed${when}`);
    });
}

function addRemove(jobs: Command, io: Io): void {
  jobs
    .command("rm")
    .summary("remove a job; its runs stay")
    .description("Removes a job with its versions. Its runs stay, and end as they would.")
    .argument("<job>", "its name")
    .action(async (name: string) => {
      await connect(io).client.jobs.remove(name);
      await io.say(`the job ${printable(name)} is removed`);
    });
}
