// What are the parts of an image's name?

/** An image's name, and what tells its versions apart. */
export interface ImageReference {
  name: string;
  /** A tag or a digest. */
  version: string;
}

/**
 * The parts of an image's name. Without tag and digest its version is `latest`: an engine that is asked for
 * no version pulls all (engine.md#pull). A digest counts more than a tag.
 */
export function imageReference(text: string): ImageReference {
  const [before = "", digest] = text.split("@", 2);
  // A colon before a slash is that of a port.
  const colon = before.lastIndexOf(":");
  const tagged = colon > before.lastIndexOf("/");
  const name = tagged ? before.slice(0, colon) : before;
  const tag = tagged ? before.slice(colon + 1) : "latest";
  return { name, version: digest ?? tag };
}
