// Which archives of Node does the bucket have, for machines that nodejs.org does not answer?
import { NODE_BUILDS } from "../host/node-builds.ts";

const { x64, arm64 } = NODE_BUILDS;
const FILES = [x64, arm64].flatMap(({ name }) => [`${name}.tar.xz`, `${name}.tar.gz`]);

/**
 * An archive of the Node that machines fetch, as somebody has put it into the bucket as `agent/<file>`. Null:
 * it is not there, or is not one of these archives.
 */
export async function nodeArchive(
  bucket: R2Bucket | undefined,
  file: string,
): Promise<ReadableStream | null> {
  if (bucket === undefined || !FILES.includes(file)) return null;
  return (await bucket.get(`agent/${file}`))?.body ?? null;
}
