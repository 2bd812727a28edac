// What does a reader do about a run that has failed? docs/operating.md says more of each code.
import type { Failure } from "../../../src/generated/api.ts";

/** Whose fault it is. */
export const FAULTS: Record<Failure["class"], string> = {
  task: "The command is at fault, not the machine.",
  infrastructure: "The machine or what is around it is at fault, not the command.",
};

/** What to do first, by the code. */
export const ADVICE: Record<Failure["code"], string> = {
  command_not_found: "Name a program that the machine has, or another image.",
  not_executable: "Check the mode of the program and its first line.",
  directory_not_found: "Name a working directory that exists.",
  arguments_too_long: "Pass the data in a file.",
  user_not_found: "Name a user that the machine has.",
  artifact_failed: "Check the address, the digest and the archive that the text names.",
  snapshot_failed: "Upload the files again: drover run --upload.",
  secrets_failed: "See which secrets there are: drover secrets list.",
  image_missing: "Check the name and the tag of the image, and its architecture.",
  image_denied: "Check the image's name, or give it credentials of its registry (container.auth).",
  image_failed: "The text says what the registry answered; the next attempt tries again.",
  engine_failed: "See whether Docker or podman runs on the machine.",
  start_failed: "See whether the disk of the machine is full.",
  outputs_failed: "The exit code and the output exist; the event “Outputs Failed” says what was missing.",
  task_failed: "Look at its output.",
  check_failed: "The text says what its check met; look at its output, too.",
  unsatisfiable: "Bound its memory (retry.escalate.oom.upTo), or add a larger type to its pool.",
  queue_timeout: "See why runs of its pool wait, or allow it to wait longer.",
  dependency_failed: "Rerun the run that the text names, and then this one.",
  machine_lost: "Rerun it, or submit it with reschedule.",
  status_lost: "Rerun it: nobody saw how it ended.",
  unkillable: "Check what the command does when it is killed.",
  agent_ended: "Rerun it.",
};
