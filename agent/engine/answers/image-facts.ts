// What does an engine say of an image?
import type { ImageFacts, ListedImage } from "../types.ts";
import { digestOf } from "./container-facts.ts";
import { numberOf, textOf, textsOf } from "./read.ts";

/** How engines write "no name". */
const NO_NAME = "<none>";

/** What an engine says of one image. */
export function imageFacts(answer: unknown): ImageFacts {
  return {
    id: digestOf(textOf(answer, "Id")),
    repoTags: named(textsOf(answer, "RepoTags")),
    repoDigests: named(textsOf(answer, "RepoDigests")),
    architecture: textOf(answer, "Architecture"),
    os: textOf(answer, "Os"),
    sizeBytes: numberOf(answer, "Size"),
    config: {
      entrypoint: textsOf(answer, "Config", "Entrypoint"),
      cmd: textsOf(answer, "Config", "Cmd"),
      env: textsOf(answer, "Config", "Env"),
      user: textOf(answer, "Config", "User"),
      workingDir: textOf(answer, "Config", "WorkingDir"),
      stopSignal: textOf(answer, "Config", "StopSignal"),
    },
  };
}

/** A row of the list of images. */
export function listedImage(row: unknown): ListedImage {
  return {
    id: digestOf(textOf(row, "Id")),
    repoTags: named(textsOf(row, "RepoTags")),
    repoDigests: named(textsOf(row, "RepoDigests")),
    sizeBytes: numberOf(row, "Size"),
    createdAtMs: numberOf(row, "Created") * 1_000,
  };
}

function named(names: string[]): string[] {
  return names.filter((name) => !name.includes(NO_NAME));
}
