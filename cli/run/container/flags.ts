// Which flags of `drover run` are about the container in which the command runs?
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Container, RunSpec } from "../../../client/types.ts";
import { CliError } from "../../errors.ts";
import { path, several, size } from "../../options.ts";

type Bind = NonNullable<Container["binds"]>[number];

/** The flags that say something of a container, as parsed. */
export interface ContainerFlags {
  image?: string;
  pull?: Container["pull"];
  registryAuth?: string;
  entrypoint?: string[];
  workdir?: string;
  user?: string;
  network?: Container["network"];
  bind?: Bind[];
  shm?: string;
  device?: string[];
  capAdd?: string[];
  capDrop?: string[];
  privileged?: boolean;
}

/** Adds the flags to a verb. */
export function addContainerFlags(verb: Command): void {
  const choice = (flags: string, what: string, words: string[]) =>
    verb.addOption(new Option(flags, what).choices(words));
  verb.option("--image <name>", "run it in a container of this image, such as node:24");
  choice("--pull <when>", "with --image: when to pull it (default: missing)", ["missing", "always", "never"]);
  verb
    .option("--registry-auth <secret>", "with --image: a secret with user:password for its registry")
    .option("--entrypoint <word>", "with --image: in place of the image's entrypoint (repeatable)", several)
    .option("--workdir <path>", "with --image: where in the container (default: the task's directory)", path)
    .option("--user <name>", "with --image: its user there; task: the owner of the task's directory");
  choice("--network <name>", "with --image: the machine's own, or none (default: bridge)", [
    "bridge",
    "host",
    "none",
  ]);
  verb
    .option(
      "--bind <source:target[:rw]>",
      "with --image: a directory of the machine that it sees (repeatable)",
      bind,
    )
    .option("--shm <size>", "with --image: the size of /dev/shm (default: 64MiB)", size)
    .option("--device <path>", "with --image: a device of the machine (repeatable)", several)
    .option("--cap-add <name>", "with --image: a capability more, such as NET_ADMIN (repeatable)", several)
    .option("--cap-drop <name>", "with --image: a capability less, or ALL (repeatable)", several)
    .option("--privileged", "with --image: no wall to the machine");
}

/** `source:target`, and behind it `:rw` or `:ro`; the flag may be repeated. */
function bind(text: string, before: Bind[] = []): Bind[] {
  const [, source, target, mode = "ro"] = /^(\/[^:]*):(\/[^:]*)(?::(ro|rw))?$/.exec(text) ?? [];
  if (source !== undefined && target !== undefined)
    return [...before, { source, target, writable: mode === "rw" }];
  throw new InvalidArgumentError(
    "It must be written /source:/target, with :rw behind it if the command may write there, such as " +
      "/srv/data:/data. Paths with colons cannot be mounted.",
  );
}

/**
 * The container that the flags describe; undefined: none of them was given. `inFile`: the container in a
 * file, whose fields the flags override. Throws a `CliError` if no image is named.
 */
export function containerFrom(flags: ContainerFlags, inFile?: unknown): Container | undefined {
  const said = CONTAINER_FIELDS.flatMap(([pointer, name, flag]) => {
    const value = flags[flag];
    return value === undefined ? [] : [{ field: pointer.slice("/container/".length), name, value }];
  });
  const [first] = said;
  if (first === undefined) return undefined;
  const base = typeof inFile === "object" && inFile !== null ? inFile : {};
  const given = Object.fromEntries(said.map(({ field, value }) => [field, value]));
  const image = flags.image ?? ("image" in base ? base.image : undefined);
  // The server validates what a file says.
  if (image !== undefined) return { ...base, ...given, image: image as string };
  throw new CliError(`${first.name} needs a container.`, ["Name its image: --image node:24"]);
}

/** The field of the submission that each flag sets, and the flag, for errors from the server. */
export const CONTAINER_FIELDS: readonly [pointer: string, name: string, flag: keyof ContainerFlags][] = [
  ["/container/image", "--image", "image"],
  ["/container/pull", "--pull", "pull"],
  ["/container/auth", "--registry-auth", "registryAuth"],
  ["/container/entrypoint", "--entrypoint", "entrypoint"],
  ["/container/workdir", "--workdir", "workdir"],
  ["/container/user", "--user", "user"],
  ["/container/network", "--network", "network"],
  ["/container/binds", "--bind", "bind"],
  ["/container/shm", "--shm", "shm"],
  ["/container/devices", "--device", "device"],
  ["/container/addCapabilities", "--cap-add", "capAdd"],
  ["/container/dropCapabilities", "--cap-drop", "capDrop"],
  ["/container/privileged", "--privileged", "privileged"],
];

/** The entries of each list that a repeatable flag makes, as they are written on the command line. */
export function containerLists({ container }: RunSpec): Record<string, readonly string[] | undefined> {
  return {
    "/container/binds": container?.binds?.map(({ source, target }) => `${source}:${target}`),
    "/container/devices": container?.devices,
    "/container/addCapabilities": container?.addCapabilities,
    "/container/dropCapabilities": container?.dropCapabilities,
    "/container/entrypoint": container?.entrypoint,
  };
}
