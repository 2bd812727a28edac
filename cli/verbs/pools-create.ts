// `drover pools create`: creates a pool on a cloud, after it has asked the cloud whether it would work.
import { type Command, InvalidArgumentError, Option } from "commander";
import { EXIT } from "../errors.ts";
import { pair, several, size, wholeNumber, word } from "../options.ts";
import {
  type Answers,
  type ChosenType,
  CLOUDS,
  type Cloud,
  chosenType,
  TYPE_TEXT,
} from "../pool-create/answers.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
At a terminal it asks for what is not said by a flag, and shows types with their prices.
Then it checks the credentials, permissions, names and quotas at the cloud, and shows the
worst bill of an hour. Only then it stores the credentials as a secret for providers, and
the pool. If something is missing, nothing is stored, and the exit code is ${EXIT.no}.

Examples:
  drover pools create ci
  drover pools create ci --cloud hetzner --credentials token --zone fsn1 --type cx22 \\
    --image ubuntu-24.04 --max 2 --ssh-key ops --yes
  drover pools create ci --cloud ec2 --credentials key.json --region eu-west-1 --spot \\
    --type m7i.large=0.107 --image ami-0a1b2c3d4e5f60718 --max 4 --yes`;

const MAX_MACHINES = 10_000;

interface Given {
  cloud?: Cloud;
  credentials?: string;
  region?: string[];
  zone?: string[];
  app?: string;
  projectId?: string;
  type?: ChosenType[];
  image?: string;
  max?: number;
  spot?: boolean;
  disk: string;
  sshKey?: string[];
  subnet?: Record<string, string>;
  secret?: string;
  endpoint?: string;
  yes?: boolean;
  json?: boolean;
}

/** `drover pools create`: creates a pool on a cloud (clouds.md#creating). */
export function addPoolsCreate(pools: Command, io: Io, exitWith: (code: number) => void): void {
  pools
    .command("create")
    .summary("create a pool on a cloud")
    .description("Creates a pool on a cloud, after the cloud was asked whether it would work.")
    .argument("<pool>", "the name of the pool")
    .option("--cloud <kind>", `one of: ${CLOUDS.join(", ")}`, word(CLOUDS))
    .option("--credentials <path>", "the credentials of the cloud, in a file, or - for standard input")
    .option("--region <region>", "a region of EC2, or one of Fly; the latter may be repeated", several)
    .option(
      "--zone <zone>",
      "a zone of Google, or a location of Hetzner; may be repeated, best first",
      several,
    )
    .option("--app <app>", "the app of Fly")
    .option("--project-id <id>", "the project of Google")
    .option("--type <type>", `${TYPE_TEXT}; may be repeated`, types)
    .option("--image <image>", "the image of the machines")
    .option("--max <number>", "at most how many machines at once", wholeNumber(1, MAX_MACHINES))
    .option("--spot", "spot machines, with machines on demand if there are none (EC2, Google)")
    .option("--disk <size>", "the disk of a machine of EC2 or Google (default: 20GiB)", size, "20GiB")
    .option("--ssh-key <name>", "a key of the project of Hetzner; may be repeated", several)
    .option("--subnet <zone=id>", "the subnet of a zone of EC2; may be repeated, best first", pair)
    .option("--secret <name>", "what the credentials are called (default: cloud and pool)")
    .addOption(new Option("--endpoint <url>", "another address of the cloud's API"))
    .option("--yes", "create it if nothing is missing, without a question")
    .option("--json", "print JSON: each finding, the configuration, and whether it was created")
    .addHelpText("after", HELP)
    .action(async (name: string, given: Given, command: Command) => {
      // The parser takes the options that `drover pools` has, too, for that command.
      const { json = false } = command.optsWithGlobals<Given>();
      // Loaded on demand: few verbs call a cloud.
      const { poolCreate } = await import("../pool-create/command.ts");
      exitWith(await poolCreate(io, name, answersIn(given), json));
    });
}

function answersIn(given: Given): Answers {
  const {
    region = [],
    zone = [],
    type = [],
    subnet,
    sshKey = [],
    yes = false,
    spot = false,
    ...rest
  } = given;
  return { ...rest, places: [...region, ...zone], types: type, subnets: subnet, sshKeys: sshKey, yes, spot };
}

function types(text: string, before: ChosenType[] = []): ChosenType[] {
  const type = chosenType(text);
  if (type === undefined) throw new InvalidArgumentError(`It must be ${TYPE_TEXT}.`);
  return [...before, type];
}
