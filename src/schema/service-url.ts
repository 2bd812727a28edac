// Is this URL acceptable as the address of a provider?
import { z } from "zod";

/** No user name, password, query or fragment, since paths are appended to it. */
const SERVICE_URL = /^https?:\/\/[\w.:[\]-]+(?:\/[!"$->@-~]*)?$/;
const TEXT =
  "must be an http or https URL without user name, password, query, fragment or blanks; " +
  "put a password of the service into `secret`";

/** The URL of a provider's service. Everyone who can read the pool sees it. */
export const ServiceUrl = z
  .string()
  .max(2_048)
  .regex(SERVICE_URL, { error: TEXT, abort: true })
  .refine(URL.canParse, TEXT);
