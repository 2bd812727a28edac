// For which causes can a run be tried again, and how are they called in texts?

/** The causes that `retry.on` can name (retry.md#causes). */
export const RETRY_CAUSES = [
  "exit",
  "timeout",
  "oom",
  "machine_lost",
  "interrupted",
  "boot",
  "image",
  "image_missing",
  "image_denied",
] as const;
export type RetryCause = (typeof RETRY_CAUSES)[number];

/** A cause in words, as the end of "it failed because…". */
export const CAUSE_WORDS: Record<RetryCause, string> = {
  exit: "its command failed",
  timeout: "it took too long",
  oom: "it ran out of memory",
  machine_lost: "its machine was lost",
  interrupted: "its machine was taken back",
  boot: "its machine could not start it",
  image: "its image could not be fetched",
  image_missing: "its image is missing",
  image_denied: "its image was denied",
};
