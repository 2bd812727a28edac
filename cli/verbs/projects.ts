// `drover projects`: makes, lists and deletes projects.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const CREATE_HELP = `
Its tokens, secrets and webhooks are made with \`--project\` by somebody with full access. A pool
serves it once the \`projects\` of the pool's configuration name it.

Examples:
  drover projects create ml
  drover --project ml tokens create --name ci --preset submitter
  drover --project ml secrets set deploy-token --file token.txt`;

/** `drover projects`: makes, lists and deletes projects. */
export function addProjects(program: Command, io: Io): void {
  const projects = program
    .command("projects")
    .summary("make, list and delete projects")
    .description(
      "A project keeps its runs, tokens, secrets and webhooks apart from those of other projects.",
    );
  projects
    .command("create")
    .summary("make a project")
    .description("Makes a project. Nothing is in it yet, and no pool serves it.")
    .argument("<name>", "its name, with which the ids of its runs begin")
    .option("--json", "print JSON")
    .addHelpText("after", CREATE_HELP)
    .action(async (name: string, { json }: { json?: boolean }) => {
      const project = await connect(io).client.projects.create(name);
      if (json === true) await io.stdout.write(`${asJson(project)}\n`);
      else await io.say(`the project ${project.name} exists`);
    });
  projects
    .command("list")
    .summary("list projects")
    .description("Lists the projects, by name.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { items } = await connect(io).client.projects.list();
      const rows = items.map(({ name, createdAt, createdBy }) => [name, createdAt ?? "", createdBy ?? ""]);
      const text = listText(io, ["NAME", "CREATED", "CREATED BY"], rows, "");
      await io.stdout.write(json === true ? `${asJson(items)}\n` : text);
    });
  projects
    .command("rm")
    .summary("delete a project of which nothing is left")
    .description(
      "Deletes a project that has no valid token, trust rule, secret or webhook, and that no pool serves.",
    )
    .argument("<name>", "its name")
    .action(async (name: string) => {
      await connect(io).client.projects.remove(name);
      await io.say(`the project ${name} is deleted`);
    });
}
