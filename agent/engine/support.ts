// Can Drover run containers with this engine?
import type { EngineFacts } from "./types.ts";

/** The machine that the agent runs on. */
export interface Here {
  /** The kernel's release. */
  kernel: string;
  /** Whether the agent is root. */
  isRoot: boolean;
}

/**
 * Why Drover cannot work with an engine, and what to do; undefined: it can (engine.md#support). Drover kills
 * by cgroups, mounts its own directories and counts the disk, so the containers must run on this machine's
 * kernel, with the agent's own rights.
 */
export function unsupported(engine: EngineFacts, here: Here): string | undefined {
  const root = "install Docker Engine or rootful podman on this machine";
  if (engine.engine === "other") {
    return `The engine says neither that it is Docker nor that it is podman: ${root}.`;
  }
  if (engine.osType !== "linux") {
    return `The engine runs containers of ${engine.osType || "an unknown system"}, not of Linux: ${root}.`;
  }
  if (engine.desktop) {
    return `Docker Desktop runs containers in a virtual machine that the agent cannot see into: ${root}.`;
  }
  if (engine.rootless) {
    return (
      "The engine is rootless: its containers cannot have the cgroups that the agent makes. " +
      "Start the engine as root, and name its socket."
    );
  }
  if (engine.usernsRemap) {
    return (
      "The engine gives root in a container another user id (userns-remap), which cannot use the task's " +
      "directories: start the engine without `userns-remap`."
    );
  }
  if (!here.isRoot) {
    return (
      "The agent is not root, so it can neither end the processes of a container nor give it its files: " +
      "start the agent as root."
    );
  }
  if (engine.kernel !== here.kernel) {
    return (
      `The engine runs on another machine: its kernel is ${engine.kernel}, and here it is ${here.kernel}. ` +
      `Let an agent run where the engine is, or ${root}.`
    );
  }
  if (engine.cgroupDriver === "none") {
    return "The engine gives containers no cgroups: start it with the cgroup driver cgroupfs or systemd.";
  }
  return undefined;
}
