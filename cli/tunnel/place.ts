// Does a path of `drover cp` lie in a run, or on this machine (tunnels.md#copies)?

/** A place in a run. */
export interface Remote {
  run: string;
  /** A path, from the directory of the task. */
  remote: string;
}

/**
 * The place in a run that `<run>:<path>` names; undefined for a path on this machine: it has no colon, or a
 * separator before its colon. On Windows a letter alone before the colon is a drive.
 */
export function remoteIn(text: string, platform: NodeJS.Platform = process.platform): Remote | undefined {
  const isWindows = platform === "win32";
  const colon = text.indexOf(":");
  const before = text.slice(0, Math.max(0, colon));
  if (before === "" || (isWindows ? /[\\/]/ : /\//).test(before)) return undefined;
  if (isWindows && /^[A-Za-z]$/.test(before)) return undefined;
  return { run: before, remote: text.slice(colon + 1) || "." };
}
