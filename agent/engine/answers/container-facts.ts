// What does an engine say of a container?
import type { ContainerFacts, ContainerState, ContainerStatus, ListedContainer } from "../types.ts";
import { fieldOf, isTrue, mapOf, numberOf, textOf, textsOf } from "./read.ts";

/** Docker's words stand for themselves; podman has some of its own. */
const STATUS: Record<string, ContainerStatus> = {
  created: "created",
  running: "running",
  paused: "paused",
  restarting: "restarting",
  removing: "removing",
  exited: "exited",
  dead: "dead",
  configured: "created",
  initialized: "starting",
  stopping: "running",
  stopped: "exited",
};

/** The time that engines write for "never". */
const NEVER = "0001-01-01T00:00:00Z";

/** What an engine says of one container (engine.md#inspect). */
export function containerFacts(answer: unknown): ContainerFacts {
  return {
    id: textOf(answer, "Id"),
    name: textOf(answer, "Name").replace(/^\//, ""),
    labels: mapOf(answer, "Config", "Labels"),
    createdAt: textOf(answer, "Created"),
    state: stateOf(answer),
    imageId: digestOf(textOf(answer, "Image")),
    image: textOf(answer, "Config", "Image"),
    tty: isTrue(answer, "Config", "Tty"),
    openStdin: isTrue(answer, "Config", "OpenStdin"),
    cgroupParent: textOf(answer, "HostConfig", "CgroupParent"),
    networkMode: textOf(answer, "HostConfig", "NetworkMode"),
    address: addressOf(answer),
    logDriver: textOf(answer, "HostConfig", "LogConfig", "Type"),
    logPath: textOf(answer, "LogPath"),
  };
}

/** The first address of its networks. Podman leaves the field empty that Docker has for its bridge. */
function addressOf(answer: unknown): string {
  const networks = Object.values(Object(fieldOf(answer, "NetworkSettings", "Networks")));
  const own = networks.map((network) => textOf(network, "IPAddress")).find((address) => address !== "");
  return textOf(answer, "NetworkSettings", "IPAddress") || (own ?? "");
}

function stateOf(answer: unknown): ContainerState {
  const status = STATUS[textOf(answer, "State", "Status")] ?? "unknown";
  const pid = numberOf(answer, "State", "Pid");
  return {
    // Its runtime has made it: podman writes down that it runs only a moment after it does.
    status: status === "created" && pid > 0 ? "starting" : status,
    running: isTrue(answer, "State", "Running"),
    pid,
    exitCode: numberOf(answer, "State", "ExitCode"),
    oomKilled: isTrue(answer, "State", "OOMKilled"),
    startedAt: timeOf(textOf(answer, "State", "StartedAt")),
    finishedAt: timeOf(textOf(answer, "State", "FinishedAt")),
    error: textOf(answer, "State", "Error"),
  };
}

/** A row of the list of containers. */
export function listedContainer(row: unknown): ListedContainer {
  return {
    id: textOf(row, "Id"),
    name: (textsOf(row, "Names")[0] ?? "").replace(/^\//, ""),
    labels: mapOf(row, "Labels"),
    imageId: digestOf(textOf(row, "ImageID")),
    status: STATUS[textOf(row, "State")] ?? "unknown",
    createdAtMs: numberOf(row, "Created") * 1_000,
  };
}

function timeOf(text: string): string | undefined {
  return text === "" || text === NEVER ? undefined : text;
}

/** The id of an image, which podman writes without the name of its digest in places. */
export function digestOf(id: string): string {
  return /^[0-9a-f]{64}$/.test(id) ? `sha256:${id}` : id;
}
