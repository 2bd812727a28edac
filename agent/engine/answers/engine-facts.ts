// What engine is it, by its own answers?
import type { EngineFacts } from "../types.ts";
import { fieldOf, isTrue, listOf, textOf, textsOf } from "./read.ts";

/** How the engine's words name what images call `amd64`. */
const ARCHITECTURES: Record<string, string> = { x86_64: "amd64", aarch64: "arm64" };

/** What is known of an engine by its answers to `/version` and `/info` (engine.md#open). */
export function engineFacts(version: unknown, info: unknown, api: string): EngineFacts {
  const engine = nameOf(version);
  const security = textsOf(info, "SecurityOptions");
  const arch = textOf(version, "Arch") || textOf(info, "Architecture");
  return {
    engine,
    version: textOf(version, "Version"),
    api,
    cgroupDriver: cgroupDriverOf(textOf(info, "CgroupDriver")),
    cgroupVersion: textOf(info, "CgroupVersion") === "2" ? 2 : 1,
    rootless: isTrue(info, "Rootless") || security.some((option) => option.startsWith("name=rootless")),
    usernsRemap: security.some((option) => option.startsWith("name=userns")),
    desktop: isDesktop(version, info),
    kernel: textOf(info, "KernelVersion") || textOf(version, "KernelVersion"),
    osType: textOf(info, "OSType") || textOf(version, "Os"),
    arch: ARCHITECTURES[arch] ?? arch,
    init: engine === "docker" ? textOf(info, "InitBinary") !== "" : undefined,
    // The containers of podman have a process of their own each, and none of the service.
    liveRestore: engine === "podman" || isTrue(info, "LiveRestoreEnabled"),
    rootDir: textOf(info, "DockerRootDir"),
    logDrivers: textsOf(info, "Plugins", "Log"),
    warnings: textsOf(info, "Warnings"),
  };
}

function nameOf(version: unknown): EngineFacts["engine"] {
  const parts = listOf(version, "Components").map((part) => textOf(part, "Name"));
  if (parts.some((name) => name.startsWith("Podman"))) return "podman";
  if (parts.includes("Engine") || textOf(version, "Platform", "Name").startsWith("Docker")) return "docker";
  return "other";
}

function isDesktop(version: unknown, info: unknown): boolean {
  const names = [textOf(info, "OperatingSystem"), textOf(version, "Platform", "Name")];
  const labels = textsOf(info, "Labels");
  return (
    names.some((name) => name.startsWith("Docker Desktop")) ||
    labels.some((label) => label.startsWith("com.docker.desktop.")) ||
    fieldOf(info, "Name") === "docker-desktop"
  );
}

function cgroupDriverOf(name: string): EngineFacts["cgroupDriver"] {
  return name === "cgroupfs" || name === "systemd" ? name : "none";
}
