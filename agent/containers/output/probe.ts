// With which bytes is an engine's output tried (containers.md#output)?
import type { ContainerBody } from "../../engine/types.ts";
import { logConfigOf } from "../body.ts";

/** The image that a machine may have for the trial. All that it needs is `cat`. */
export const PROBE_IMAGE = "drover/probe:latest";

/** Where the container sees the bytes. */
const TARGET = "/torture";

/**
 * 2 KiB that engines have been seen to change: bytes that are no text, NUL, carriage returns, characters of
 * four bytes across the borders of buffers, and no newline at the end.
 */
export const TORTURE: Buffer = Buffer.concat([
  Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x0d, 0x80, 0xc3, 0x28]),
  Buffer.from("\u{1f980}".repeat(300)),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from("x".repeat(580)),
]);

/** Whether all bytes came back as they were. */
export function isTorture(bytes: Buffer): boolean {
  return TORTURE.equals(bytes);
}

/** The container of the trial, which writes the bytes of `file`. */
export function probeBody(file: string, labels: Record<string, string>): ContainerBody {
  return {
    Image: PROBE_IMAGE,
    Entrypoint: ["cat", TARGET],
    Labels: labels,
    Tty: false,
    HostConfig: {
      Mounts: [{ Type: "bind", Source: file, Target: TARGET, ReadOnly: true }],
      NetworkMode: "none",
      LogConfig: logConfigOf("docker"),
    },
  };
}
